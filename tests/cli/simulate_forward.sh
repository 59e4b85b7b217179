#!/usr/bin/env bash
# pricer simulate and sweep with 'scheme: forward' as a user runs them: the expectation over all
# patterns, both engines, data of all kinds, threads, what is stored and what is
# refused. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds EXPRESSION: a Python expression about the JSON object in out.json. Trials and
# expectation differ by 4.9 standard errors once in 10^6.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1: $(cat out.json)"
import json, sys
o = json.load(open("out.json"))
agrees = lambda r: abs(r["mse"] - r["predicted"]) < 4.9 * r["mse_stderr"]
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}
simulate() { # into out.json, and nothing on stderr
    "$pricer" simulate "$@" --json >out.json 2>err.txt ||
        fail "simulate $* exited $?: $(cat err.txt)"
    [ ! -s err.txt ] || fail "simulate $* said: $(cat err.txt)"
}

printf 'node,p\n0,.9\n1,.2\n2,0\n3,.1\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n2,1,.7\n3,2,.6\n2,0,.3\n3,1,.2\n' >links.csv
cat >four.yaml <<'YAML'
dimension: 2
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {everyone: {eps: 4}}
hops: 2
seed: 3
YAML
"$pricer" new four.pricer four.yaml >/dev/null
expect 1 "there is no such plan" "$pricer" simulate four.pricer
"$pricer" plan four.pricer --name two >/dev/null || fail "no plan"

simulate four.pricer
holds "list(o)[:6] == ['trials', 'mse', 'mse_stderr', 'predicted', 'worst_case', 'seconds']"
holds "o['trials'] == 100000 and agrees(o) and abs(o['predicted'] - .262385278) < 1e-9"
holds "o['scheme'] == 'forward' and o['hops'] == 2 and o['seed'] == 3"
holds "abs(o['worst_case'] - o['predicted']) < 1e-12 and o['bar'] > o['worst_case']"
holds "all(o['deliveries'][k]['deviations'] < 6 for k in ('uplinks', 'links'))"
simulate four.pricer --engine faithful --trials 5000 --plan two
holds "o['trials'] == 5000 and agrees(o)"
simulate four.pricer --data random --seed 8
holds "agrees(o) and o['predicted'] < o['worst_case'] and o['seed'] == 8"
printf '1,0\n0,1\n-1,0\n3,4\n' >rows.csv
simulate four.pricer --data rows.csv
holds "agrees(o) and o['clipped'] == 1 and o['mse_given'] > o['mse']"
[ "$(sqlite3 four.pricer 'SELECT count(*), sum(plan), sum(trials) FROM simulation')" = \
    "4|4|305000" ] || fail "what is stored"
"$pricer" simulate four.pricer >table.txt || fail "simulate exited $?"
grep -q "^scheme forward, 2 hops: mean error bar" table.txt || fail "the table: $(cat table.txt)"

# A plan of sampled patterns; results do not depend on the number of threads.
cat >many.yaml <<'YAML'
dimension: 3
network: {generator: geometric, nodes: 60, uplink: 0.1}
trust: {everyone: {eps: 4}}
hops: 2
rounds: 3
YAML
"$pricer" new many.pricer many.yaml >/dev/null && "$pricer" plan many.pricer >/dev/null ||
    fail "no plan of 60 nodes"
for engine in "fast --trials 70000" "faithful --trials 60"; do
    for threads in 1 2 3; do
        # shellcheck disable=SC2086
        simulate many.pricer --data random --engine $engine --threads $threads
        holds "o['predicted'] is None and o['mse'] < o['worst_case']"
        sed -i /seconds/d out.json
        [ $threads = 1 ] && cp out.json one.json
        cmp one.json out.json || fail "$engine: $threads threads"
    done
done

# Options of the sum scheme.
for option in "--decoder constant" "--strategy naive"; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *} belongs to 'scheme: sum', and the study has 'scheme: forward'" \
        "$pricer" simulate four.pricer $option
done
# Rounds of several attempts: all patterns of two, a sample of more.
for repeat in 2 4; do
    "$pricer" new again.pricer four.yaml --force --set repeat=$repeat >/dev/null &&
        "$pricer" plan again.pricer --json >out.json || fail "no plan of $repeat attempts"
    holds "o['repeat'] == $repeat and (o['patterns'] == 0) == ($repeat == 2)"
    holds "len(o['sensitivity']['links']) == 5 and o['mse_sum'] > .8 and o['mse_worst_case'] < .15"
    simulate again.pricer --trials 50000
    holds "o['repeat'] == $repeat and ($repeat > 2 or agrees(o))"
    simulate again.pricer --engine faithful --trials 2000
    holds "o['mse'] < o['worst_case'] + 5 * o['mse_stderr']"
done

# A sweep: exact errors, the hops that plans have, and what it refuses.
"$pricer" sweep four.yaml --vary trust.everyone.eps=1,4 --vary hops=1,3 --trials 20000 \
    --to grid --json >out.json 2>err.txt || fail "sweep: $(cat err.txt)"
holds "[round(r['worst_case'], 9) for r in o['rows']] == \
    [.832470472, .793873266, .296581048, .259830408]"
holds "all(agrees(r) and r['status'] == 'ok' and r['heard'] == 4 for r in o['rows'])"
holds "[r['plan_hops'] for r in o['rows']] == [1, 3, 1, 3] and o['rows'][0]['bar'] > 0"
[ -s grid/sweep.svg ] || fail "no plot"
for option in "--decoder constant" "--strategy naive" --privacy; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *} belongs to 'scheme: sum', and the scenario has 'scheme: forward'" \
        "$pricer" sweep four.yaml --vary hops=1,2 --to none $option
done
[ ! -e none ] || fail "a folder for what is refused"
printf "1,2\n" >short.csv
expect 1 "the network has 4 nodes and dimension 2" "$pricer" simulate four.pricer --data short.csv
exit $bad
