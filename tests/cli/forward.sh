#!/usr/bin/env bash
# Studies of 'scheme: forward': the example of four nodes from CSV files with the errors
# that other programs found, which keys and columns choose the scheme, what each scheme
# refuses and in which line, networks at the edge, K-means and power iteration, and that
# what knows sums only says so. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# json KEY: of the object in out.json. near A B: whether they agree to 9 digits.
json() { sqlite3 :memory: "SELECT readfile('out.json')->>'$1'"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a - b < 6e-10 && b - a < 6e-10) }'; }
# plan SCENARIO KEY=VALUE...: make and plan a study; out.json has what plan prints.
plan() {
    local sets=() file=$1 set
    shift
    for set in "$@"; do sets+=(--set "$set"); done
    "$pricer" new s.pricer "$file" --force "${sets[@]}" >new.txt 2>&1 &&
        "$pricer" plan s.pricer --json >out.json 2>err.txt ||
        fail "plan $file $*: $(cat new.txt err.txt)"
}

printf 'node,p\n0,.9\n1,.2\n2,0\n3,.1\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n2,1,.7\n3,2,.6\n2,0,.3\n3,1,.2\n' >links.csv
cat >four.yaml <<'YAML'
dimension: 2
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {everyone: {eps: 4}}
YAML

# Exact, for both budgets and all hops; what is printed is what is stored.
while read -r eps hops error; do
    plan four.yaml "trust.everyone.eps=$eps" "hops=$hops"
    near "$(json mse_worst_case)" "$error" || fail "eps $eps, $hops hops: $(cat out.json)"
    [ "$(json scheme) $(json hops) $(json release) $(json heard) $(json mse_stderr)" = \
        "forward $hops sphere 4 0" ] || fail "the JSON object: $(cat out.json)"
    near "$(json mse_missing)" "$(awk -v a="$error" -v b="$(json mse_noise)" \
        'BEGIN { printf "%.17g", a - b }')" || fail "the split: $(cat out.json)"
    near "$(sqlite3 s.pricer 'SELECT mse_worst_case FROM forward_plan WHERE plan = 1')" \
        "$error" || fail "the study has another error"
done <<'TABLE'
4 1 .296581048
4 2 .262385278
4 3 .259830408
1 1 .832470472
1 2 .800371878
1 3 .793873266
TABLE
plan four.yaml hops=1
[ "$(sqlite3 s.pricer "SELECT group_concat(printf('%.4f %.6f', arrival, coefficient), ', ')
    FROM forward_plan_node")" = \
    "0.9000 1.111111, 0.7760 1.288660, 0.3722 1.096803, 0.1360 0.941974" ] ||
    fail "arrivals and coefficients"
# v = 0.4827078 of one release: over links that never fail the error is s / (1 + s), s = v / 4.
near "$(json mse_perfect)" 0.107682186 && near "$(json zero_mse)" 1 || fail "baselines"
near "$(json bytes_per_round)" 324 || fail "bytes: $(cat out.json)"
near "$(json arrival_mean)" 0.54605 && near "$(json release_variance)" 0.482707774 ||
    fail "means: $(cat out.json)"
# Without hops, the fewest within 1 % of the best: three are less than that better than two.
plan four.yaml
[ "$(json hops)" = 2 ] || fail "hops: $(cat out.json)"
# Several rounds, and a kind.
plan four.yaml rounds=5 trust.everyone.eps=8
near "$(json release_variance)" "$(sqlite3 s.pricer 'SELECT max(variance) FROM forward_plan_node')" &&
    awk -v v="$(json release_variance)" 'BEGIN { exit !(v > 3.9513 && v < 3.95132) }' ||
    fail "five rounds: $(cat out.json)"
plan four.yaml release=gaussian
[ "$(json release)" = gaussian ] || fail "gaussian: $(cat out.json)"
awk -v v="$(json release_variance)" 'BEGIN { exit !(v > 9.351287 && v < 9.351289) }' ||
    fail "variance of the Gaussian: $(cat out.json)"
"$pricer" plan s.pricer >plan.txt || fail "plan exited $?"
for words in "always answering zero" "no relaying" "sums, the budget divided evenly" \
    "forward, 2 hops" "links that never fail" "would lower the error most" "d error / d eps" \
    "eps = 4" "towards everyone" "Traffic:" "gaussian"; do
    grep -qF "$words" plan.txt ||
        fail "plan does not say '$words': $(cat plan.txt)"
done
[ "$(sqlite3 s.pricer 'SELECT count(*) FROM forward_plan')" = 2 ] || fail "plans are stored"

# The steepest derivative is that of plans for links which are a little better.
plan four.yaml hops=2
now=$(json mse_worst_case)
what=$(json sensitivity.links[0].of),$(json sensitivity.links[0].from)
slope=$(json sensitivity.links[0].slope)
[ "$what $(json sensitivity.patterns)" = "uplink,1 0" ] || fail "sensitivity: $(cat out.json)"
sed -i 's/^1,.2$/1,.20001/' nodes.csv
plan four.yaml hops=2
awk -v a="$now" -v b="$(json mse_worst_case)" -v s="$slope" \
    'BEGIN { t = (b - a) / 1e-5; exit !(t < 0 && s / t > .999 && s / t < 1.001) }' ||
    fail "the slope is $slope: $now becomes $(json mse_worst_case)"
sed -i 's/^1,.20001$/1,.2/' nodes.csv
# Scheme sum at the same guarantee is a study of that scheme.
plan four.yaml
sum=$(json mse_sum)
sed 's/everyone: {eps: 4}/eps: 4, self: {eps: 4}, server: {eps: 4}/' four.yaml >sum.yaml
plan sum.yaml
awk -v a="$sum" -v b="$(json mse_worst_case)" \
    'BEGIN { exit !(a > 0 && a / b > .99999 && a / b < 1.00001) }' ||
    fail "scheme sum: $sum, $(cat out.json)"
plan four.yaml trust.everyone.delta=0
[ "$(sqlite3 :memory: "SELECT json_type(readfile('out.json'), '\$.mse_sum')")" = null ] ||
    fail "a sum without delta: $(cat out.json)"

# Advice: what it finds is what plans have; no eps above 10 is proposed.
"$pricer" new s.pricer four.yaml --force --set hops=1 --set rounds=2 >new.txt || fail "new exited $?"
"$pricer" advise s.pricer --error 50% --eps 2 --json >out.json || fail "advise exited $?"
wanted=$(json wanted_eps)
at_two=$(json 'at_eps[0].mse_worst_case')
three=$(json 'hops_curve[3].mse_worst_case')
ten=$(json 'rounds_curve[3].mse_worst_case')
[ "$(json 'rounds_curve[3].rounds') $(json 'hops_curve[3].hops')" = "10 3" ] ||
    fail "the rows of advise: $(cat out.json)"
plan four.yaml hops=1 rounds=2 "trust.everyone.eps=$wanted"
awk -v w="$(json mse_worst_case)" 'BEGIN { exit !(w <= .5 && w > .499) }' ||
    fail "eps $wanted does not reach half: $(cat out.json)"
same() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a / b > 1 - 2e-6 && a / b < 1 + 2e-6) }'; }
plan four.yaml hops=1 rounds=2 trust.everyone.eps=2
same "$at_two" "$(json mse_worst_case)" || fail "advise --eps: $at_two, $(cat out.json)"
plan four.yaml hops=3 rounds=2
same "$three" "$(json mse_worst_case)" || fail "advise, hops: $three, $(cat out.json)"
plan four.yaml hops=1 rounds=10
same "$ten" "$(json mse_worst_case)" || fail "advise, rounds: $ten, $(cat out.json)"
"$pricer" advise s.pricer --error 1% >advice.txt || fail "advise exited $?"
grep -q "cannot be reached with any privacy" advice.txt && grep -q "^the noise of releases" advice.txt &&
    grep -q "rounds in place of 10" advice.txt || fail "advise: $(cat advice.txt)"
awk 'length > 100 { wide = 1 } END { exit wide }' advice.txt || fail "too wide: $(cat advice.txt)"
"$pricer" new s.pricer four.yaml --force --set hops=1 --set repeat=2 >new.txt || fail "new exited $?"
"$pricer" advise s.pricer --json >out.json || fail "advise of two attempts exited $?"
same "$(json mse_worst_case)" "$(json 'hops_curve[1].mse_worst_case')" ||
    fail "advise, two attempts: $(cat out.json)"
expect 2 "--points belongs to 'scheme: sum'" "$pricer" advise s.pricer --points 5
# Two attempts have sensitivities, and scheme sum in one attempt next to them.
"$pricer" plan s.pricer --json >out.json && "$pricer" plan s.pricer >plan.txt || fail "plan exited $?"
[ "$(json mse_sum)" ] && [ "$(json sensitivity.links[0].of)" ] || fail "attempts: $(cat out.json)"
grep -q "sums, one attempt, budget divided evenly" plan.txt &&
    grep -q "^Links: " plan.txt || fail "plan of two attempts: $(cat plan.txt)"
"$pricer" new one.pricer four.yaml --force --set hops=1 >new.txt &&
    "$pricer" plan one.pricer --json >one.json || fail "plan exited $?"
[ "$(json mse_sum)" = "$(sqlite3 :memory: "SELECT readfile('one.json')->>'mse_sum'")" ] ||
    fail "scheme sum in one attempt: $(cat out.json one.json)"

# The scheme by default: everyone's budget in the scenario or in a column, else sum.
"$pricer" new s.pricer four.yaml --force >new.txt || fail "new exited $?"
grep -q "scheme forward$" new.txt || fail "new: $(cat new.txt)"
"$pricer" new s.pricer "$here"/examples/paper.yaml --force --json >out.json
[ "$(json scheme)" = sum ] || fail "new: sum: $(cat out.json)"
"$pricer" new s.pricer four.yaml --force --json >out.json
[ "$(json scheme)" = forward ] || fail "new --json: $(cat out.json)"
printf 'dimension: 2\nnetwork: {files: {nodes: budgets.csv, links: links.csv}}\n' >columns.yaml
printf 'node,p,everyone_eps,everyone_delta\n0,.9,4,\n1,.2,1,0\n2,0,4,\n3,.1,2,1e-9\n' >budgets.csv
plan columns.yaml
[ "$(json scheme) $(json eps)" = "forward 4" ] || fail "columns: $(cat out.json)"
[ "$(sqlite3 s.pricer 'SELECT count(DISTINCT variance) FROM forward_plan_node')" = 3 ] ||
    fail "nodes of different budgets have one variance"

# Refused, with file and line, and nothing is made.
refuse() { # WORDS then the lines that are added to the scenario without trust
    local words=$1
    shift
    { sed 2q four.yaml && printf '%s\n' "$@"; } >bad.yaml
    expect 1 "$words" "$pricer" new bad.pricer bad.yaml
    [ ! -e bad.pricer ] || fail "a study in spite of '$words'"
}
everyone='trust: {everyone: {eps: 4}}'
refuse "bad.yaml:3: trust.eps belongs to 'scheme: sum'" 'trust: {eps: 1, everyone: {eps: 4}}'
refuse "bad.yaml:3: trust.server.eps belongs to 'scheme: sum'" \
    'trust: {server: {eps: 1}, everyone: {eps: 4}}'
refuse "bad.yaml:4: objective.bias belongs to 'scheme: sum'" "$everyone" 'objective: {bias: l2}'
refuse "bad.yaml:4: there is no key horizon" "$everyone" 'horizon: 3'
refuse "bad.yaml:4: diameter = 3 is above 2, twice the radius" "$everyone" 'diameter: 3'
refuse "bad.yaml:3: hops belongs to 'scheme: forward'" 'hops: 2' 'trust: {eps: 1}'
refuse "bad.yaml:4: trust.everyone.eps belongs to 'scheme: forward'" 'scheme: sum' "$everyone"
refuse "nodes.csv:2: everyone_eps is missing" 'scheme: forward'
cp links.csv kept.csv
printf 'from,to,p,eps\n1,0,.8,\n2,1,.7,3\n' >links.csv
refuse "links.csv:3: eps and delta of links belong to 'scheme: sum'" "$everyone"
mv kept.csv links.csv

# Edges: a node that nobody hears, one node alone, links that never fail, no links.
printf 'node,p,name\n0,.9,gate\n1,.2,\n2,0,attic\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n0,2,.5\n' >links.csv
plan four.yaml
[ "$(json unheard) $(json heard)" = "[2] 2" ] || fail "unheard: $(cat out.json)"
"$pricer" plan s.pricer >plan.txt || fail "plan exited $?"
grep -q "^NEVER HEARD: 1 of 3" plan.txt && grep -qF "attic (2)." plan.txt ||
    fail "the node that nobody hears has no name: $(cat plan.txt)"
printf 'node,p\n0,1\n' >nodes.csv
printf 'from,to,p\n' >links.csv
plan four.yaml
near "$(json mse_worst_case)" "$(json mse_perfect)" && near "$(json mse_worst_case)" 0.325558267 ||
    fail "one node: $(cat out.json)"
[ "$(json hops)" = 0 ] || fail "one node needs relays: $(cat out.json)"
printf 'node,p\n0,1\n1,1\n2,1\n' >nodes.csv
printf 'from,to,p\n0,1,1\n1,0,1\n1,2,1\n' >links.csv
plan four.yaml
near "$(json mse_worst_case)" "$(json mse_perfect)" || fail "perfect links: $(cat out.json)"
printf 'node,p\n0,0\n1,0\n' >nodes.csv
printf 'from,to,p\n0,1,1\n' >links.csv
expect 1 "no node can be heard" "$pricer" new none.pricer four.yaml

# From rounds that were run: node 1 arrives only when node 0 does not, over one relay.
printf 'node,p\n0,.5\n1,.5\n2,0\n' >nodes.csv
printf 'from,to,p\n1,0,.5\n2,0,.5\n' >links.csv
plan four.yaml
expect 1 "0 rounds: at least two are needed" "$pricer" plan s.pricer --from-deliveries
sqlite3 s.pricer "WITH RECURSIVE t(k) AS (VALUES (1) UNION ALL SELECT k + 1 FROM t WHERE k < 40)
    INSERT INTO round SELECT k, 1, 1, 1, 1, 1, NULL, NULL, 'constant', NULL FROM t;
    INSERT INTO round_arrival SELECT round, round / 2 % 2, round / 2 % 2, 0 FROM round"
"$pricer" plan s.pricer --from-deliveries --json >out.json || fail "from deliveries exited $?"
[ "$(json measured_rounds) $(json hops) $(json heard) $(json unheard)" = "40 1 2 [2]" ] ||
    fail "from deliveries: $(cat out.json)"
[ "$(sqlite3 s.pricer "SELECT measured, (SELECT group_concat(arrival, ' ') FROM forward_plan_node
    WHERE plan = 2) FROM forward_plan WHERE plan = 2")" = "40|0.5 0.5 0.0" ] ||
    fail "what was measured is not stored"
# Half of the nodes' bound: each arrives every other round, never together.
awk -v w="$(json mse_worst_case)" -v z="$(json zero_mse)" 'BEGIN { exit !(w > .3 && w < z) }' ||
    fail "the bound of what was measured: $(cat out.json)"
"$pricer" plan s.pricer --from-deliveries >plan.txt || fail "from deliveries exited $?"
grep -q "half of 40" plan.txt && grep -q "No model of links" plan.txt ||
    fail "from deliveries says: $(cat plan.txt)"

# A sample: the error of a larger network comes with its standard error.
cat >many.yaml <<'YAML'
dimension: 2
network: {generator: geometric, nodes: 60, uplink: 0.1}
trust: {everyone: {eps: 4}}
YAML
plan many.yaml hops=2
awk -v w="$(json mse_worst_case)" -v s="$(json mse_stderr)" -v a="$(json mse_alone)" \
    -v p="$(json mse_perfect)" 'BEGIN { exit !(s > 0 && s < w / 50 && p < w && w < a) }' ||
    fail "a sample: $(cat out.json)"
"$pricer" plan s.pricer >plan.txt || fail "plan exited $?"
awk 'length > 100 { wide = 1 } END { exit wide }' plan.txt || fail "too wide: $(cat plan.txt)"

# The script of docs/networks.md, on the example of four nodes and a map of three.
mkdir -p lists/intel-lab lists/freifunk
printf '1 0 .9\n2 0 .2\n4 0 .1\n2 1 .8\n3 2 .7\n4 3 .6\n3 1 .3\n4 2 .2\n' \
    >lists/intel-lab/connectivity.txt
cat >lists/freifunk/freifunk-leipzig.json <<'JSON'
{"nodes": [], "links": [{"source": 7, "target": 5, "source_tq": 1, "target_tq": 0.5},
    {"source": 8, "target": 5, "source_tq": 1, "target_tq": 0.5},
    {"source": 8, "target": 7, "type": "vpn"}]}
JSON
EPS=4 DIMENSIONS=2 "$here"/examples/networks.sh lists "$pricer" >tables.txt 2>err.txt ||
    fail "networks.sh: $(cat err.txt)"
grep -qE '^\| 2 \| 4 \| .* \| 29.7 \| 26.2 \| 26.0 \| 26.0 \| 26.2 \(2\) \| 10.8 \|$' tables.txt &&
    grep -qE '^\| 2 \| 4 \| .* \| 19.4 \(0\) \| 19.4 \|$' tables.txt ||
    fail "the tables: $(cat tables.txt)"

# Options of the sum scheme.
for option in "--bias l1 --lambda 1" "--calibration classic" "--method gradient" \
    "--decoder minimax" "--tolerance .1" "--weights f.csv" "--what-if 0,1=3" \
    --warm; do
    # shellcheck disable=SC2086
    expect 2 "${option%% *} belongs to 'scheme: sum', and the study has 'scheme: forward'" \
        "$pricer" plan s.pricer $option
done

# kmeans and power: one eps towards everyone for the whole run, the same on any number of
# threads, and without what only sums have.
awk 'BEGIN { srand(1); for (r = 0; r < 600; r++) printf "%.4f,%.4f\n",
    .5 * (r % 2) + .1 * rand(), .5 * (r % 3 == 0) + .1 * rand() }' >rows.csv
"$pricer" new s20.pricer four.yaml --set trust.everyone.eps=20 --set repeat=2 >/dev/null || fail new
for run in "kmeans --clusters 2 --rounds 4" "power --iterations 4"; do
    # shellcheck disable=SC2086
    for threads in 1 4; do
        "$pricer" $run s20.pricer --data rows.csv --seeds 2 --json --threads $threads \
            >out$threads.json 2>err.txt || fail "$run: $(cat err.txt)"
    done
    cmp -s out1.json out4.json || fail "$run: threads change the result"
    mv out1.json out.json
    [ "$(json 'budget[0].eps') $(json 'budget[0].nodes') $(json 'budget[1]')" = "20 3 " ] &&
        awk -v e="$(json 'budget[0].spent')" 'BEGIN { exit !(e > 19.99 && e <= 20) }' ||
        fail "$run: the budget is $(cat out.json)"
    # shellcheck disable=SC2086
    expect 0 "One eps towards everyone over all rounds" "$pricer" $run s20.pricer --data rows.csv
    for option in "--bias l1 --lambda 1" "--calibration classic"; do
        # shellcheck disable=SC2086
        expect 2 "${option%% *} belongs to 'scheme: sum', and the study has 'scheme: forward'" \
            "$pricer" ${run%% *} s20.pricer --data rows.csv $option
    done
done
for option in "--decoder minimax" "--strategy none" "--budget release" "--procedure paper"; do
    # shellcheck disable=SC2086
    expect 2 "belongs to 'scheme: sum', and the study has 'scheme: forward'" \
        "$pricer" kmeans s20.pricer --data rows.csv $option
done
"$pricer" kmeans s20.pricer --data rows.csv --clusters 2 --strategy perfect --json >out.json 2>err.txt &&
    [ "$(json strategy) $(json 'budget[0]')" = "perfect " ] || fail "perfect: $(cat out.json err.txt)"

# What knows sums only.
words="does not know 'scheme: forward' yet"
"$pricer" keygen server.key >/dev/null && "$pricer" keygen node.key >/dev/null || fail keygen
expect 1 "this key is not enrolled as the server's" timeout 60 "$build"/pricer-server s.pricer \
    --key server.key --listen tcp://127.0.0.1:0
expect 1 "$words" timeout 60 "$build"/pricer-server s.pricer --key server.key --check
echo to,eps,delta >trust.csv
expect 1 "$words" timeout 60 "$build"/pricer-node --node 0 --key node.key \
    --server tcp://127.0.0.1:1 --server-key server.key.pub --listen tcp://127.0.0.1:0 \
    --trust trust.csv --ledger ledger.db --new-ledger --data rows.npy --emulate s.pricer
"$pricer" show s.pricer >show.txt && grep -q "^forward_plan  *2$" show.txt &&
    grep -q "^hops" show.txt && ! grep -qE "^(bias|calibration|horizon|lambda)" show.txt || fail show
exit $bad
