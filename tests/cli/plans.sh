#!/usr/bin/env bash
# pricer plans and diff: what is listed, named, deleted and compared. $1: the
# build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# json VERB... ; holds EXPRESSION about o.
json() {
    "$pricer" "$@" --json >out.json || fail "$* exited $?"
}
holds() {
    [ "$(sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('out.json') AS o)" 2>&1)" = 1 ] ||
        fail "not so: $1: $(cat out.json)"
}

"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
expect 0 "No plan yet" "$pricer" plans ten.pricer
json plans ten.pricer
holds "json_array_length(o, '\$.plans') = 0"
export SOURCE_DATE_EPOCH=1700000000 TZ=UTC
"$pricer" plan ten.pricer >/dev/null
"$pricer" plan ten.pricer --bias l1 --lambda 0.1 --name paper >/dev/null
"$pricer" plan ten.pricer --bias unbiased --decoder constant >/dev/null
"$pricer" privacy ten.pricer --plan 2 --observer server >/dev/null
"$pricer" privacy ten.pricer --plan 2 --observer server --rounds 100 >/dev/null
"$pricer" simulate ten.pricer --plan 2 --trials 100 --strategy naive >/dev/null

# The list says what the plan itself said.
expect 0 "2023-11-14 22:13" "$pricer" plans ten.pricer
expect 0 "l1 0.1" "$pricer" plans ten.pricer
expect 0 "squared units of the data" "$pricer" plans ten.pricer
expect 0 "paper" "$pricer" show ten.pricer
json plans ten.pricer
holds "(SELECT group_concat(value->>'bias') FROM json_each(o, '\$.plans')) = 'worst-case,l1,unbiased'"
holds "o->>'\$.plans[1].name' = 'paper' AND o->>'\$.plans[1].made' = 1700000000"
holds "o->>'\$.plans[0].server_eps' IS NULL"
[ "$(sqlite3 ten.pricer "SELECT max(epsilon) = readfile('out.json')->>'\$.plans[1].server_eps'
    FROM privacy_statement JOIN privacy USING (privacy) WHERE rounds = 1")" = 1 ] || fail "the server's eps is another"
[ "$(sqlite3 ten.pricer "SELECT mse_worst_case = readfile('out.json')->>'\$.plans[2].mse_worst_case'
    FROM plan WHERE plan = 3")" = 1 ] || fail "the error is another"

# Compare: each side as it was planned, the moved links in order.
json diff ten.pricer 1 paper
holds "o->>'\$.plans[1].plan' = 2 AND o->>'\$.plans[1].objective' > o->>'\$.plans[0].objective'"
holds "json_array_length(o, '\$.moved') = 10"
holds "(SELECT min(abs(a.value->>'weight' - a.value->>'weight_before') >=
        abs(b.value->>'weight' - b.value->>'weight_before') - 1e-12)
    FROM json_each(o, '\$.moved') a JOIN json_each(o, '\$.moved') b ON b.key = a.key + 1)"
json diff ten.pricer paper
holds "o->>'\$.plans[1].plan' = 3"
expect 0 "noise, plan 2" "$pricer" diff ten.pricer 1 paper
# Every verb that takes a plan takes its name.
"$pricer" report ten.pricer --plan 2 -o number.html >/dev/null
"$pricer" report ten.pricer --plan paper -o name.html >/dev/null
cmp -s number.html name.html || fail "a report by name is another"
for verb in "simulate --trials 50" "privacy --observer link" "audit --observer link --trials 1000"; do
    # shellcheck disable=SC2086
    for plan in 2 paper; do
        "$pricer" ${verb%% *} ten.pricer ${verb#* } --plan $plan --json 2>/dev/null |
            grep -v '"seconds"' >$plan.json
    done
    [ -s 2.json ] && cmp -s 2.json paper.json || fail "$verb by name is another"
    # shellcheck disable=SC2086
    expect 1 "there is no plan strict" "$pricer" ${verb%% *} ten.pricer --plan strict
done
expect 1 "there is no plan strict" "$pricer" report ten.pricer --plan strict
expect 0 "Every link carries the same" "$pricer" diff ten.pricer 1 1
expect 1 "there is no plan strict" "$pricer" diff ten.pricer strict 1

# Names are unique and never look like a number; the plan of a taken one is not made.
expect 0 "strict" "$pricer" plans ten.pricer --name 1=strict
expect 1 "plan 1 is called strict already" "$pricer" plans ten.pricer --name 2=strict
expect 1 "is no name" "$pricer" plans ten.pricer --name 2=7
expect 1 "is not PLAN=NAME" "$pricer" plans ten.pricer --name 2
expect 1 "called by this name already" "$pricer" plan ten.pricer --name strict
expect 2 "begins with a letter" "$pricer" plan ten.pricer --name 2nd
expect 0 "loose" "$pricer" plans ten.pricer --name strict=loose

# Deleting takes everything that points to the plan, and nothing else.
expect 0 "loose" "$pricer" plans ten.pricer --delete paper
[ -z "$(sqlite3 ten.pricer 'PRAGMA foreign_key_check')" ] || fail "dangling references"
[ "$(sqlite3 ten.pricer "SELECT (SELECT count(*) FROM plan), (SELECT count(*) FROM plan_link
    WHERE plan = 2), (SELECT count(*) FROM privacy), (SELECT count(*) FROM simulation_bin),
    (SELECT count(*) FROM decoder)")" = "2|0|0|0|1" ] || fail "what is left is wrong"
expect 1 "there is no plan paper" "$pricer" plans ten.pricer --delete paper
before=$(sqlite3 ten.pricer .dump | md5sum)
expect 1 "there is no plan 9" "$pricer" plans ten.pricer --delete 9
[ "$(sqlite3 ten.pricer .dump | md5sum)" = "$before" ] || fail "a refusal changed the study"

# A plan that rounds were run with stays.
sqlite3 ten.pricer "INSERT INTO round (round, plan, attempts, arrived, contributors, weight, decoder)
    VALUES (1, 3, 1, 1, 1, 0.5, 'constant')"
expect 1 "rounds were run with plan 3" "$pricer" plans ten.pricer --delete 3
# A measured network goes with its last plan.
sqlite3 ten.pricer "INSERT INTO arrival VALUES (1, 0, 0, 1)"
"$pricer" plan ten.pricer --from-deliveries --decoder constant >/dev/null
expect 0 "measured links" "$pricer" plans ten.pricer
expect 0 "loose" "$pricer" plans ten.pricer --delete 4
[ "$(sqlite3 ten.pricer "SELECT (SELECT count(*) FROM network), (SELECT count(*) FROM network_node)")" = "1|0" ] ||
    fail "the measured network is still there"

# The same with 'scheme: forward': W by hops of the four nodes as other programs found it.
printf 'node,p,name\n0,.9,gate\n1,.2,\n2,0,\n3,.1,\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n2,1,.7\n3,2,.6\n2,0,.3\n3,1,.2\n' >links.csv
printf 'dimension: 2\nhops: 1\nnetwork: {files: {nodes: nodes.csv, links: links.csv}}
trust: {everyone: {eps: 4}}\n' >four.yaml
"$pricer" new four.pricer four.yaml >/dev/null
expect 0 "No plan yet" "$pricer" plans four.pricer
"$pricer" plan four.pricer --name near >/dev/null || fail "plan --name exited $?"
sqlite3 four.pricer "UPDATE setting SET value = 3 WHERE key = 'hops';
    UPDATE setting SET value = 'sphere' WHERE key = 'release'"
expect 1 "plan 1 is called by this name already" "$pricer" plan four.pricer --name near
"$pricer" plan four.pricer >/dev/null || fail "plan exited $?"
expect 0 "near  2023-11-14 22:13  forward, 1 hop  " "$pricer" plans four.pricer
expect 0 "forward, 3 hops, sphere  " "$pricer" show four.pricer
"$pricer" plans four.pricer | awk 'length > 100 { wide = 1 } END { exit wide }' || fail "plans: wide"
for verb in plans show; do
    json $verb four.pricer
    holds "o->>'\$.plans[0].name' = 'near' AND o->>'\$.plans[0].made' = 1700000000"
    holds "o->>'\$.plans[1].scheme' = 'forward' AND o->>'\$.plans[1].hops' = 3"
    holds "abs(o->>'\$.plans[0].mse_worst_case' - .296581048) < 1e-9"
    holds "abs(o->>'\$.plans[1].mse_worst_case' - .259830408) < 1e-9"
    holds "o->>'\$.plans[1].eps' = 4 AND o->>'\$.plans[1].release' = 'sphere'"
done
json diff four.pricer near 2
holds "abs(o->>'\$.plans[1].mse_worst_case' - .259830408) < 1e-9"
holds "(SELECT group_concat(value->>'node') FROM json_each(o, '\$.moved')) = '3,2,1'"
holds "abs(o->>'\$.moved[0].arrival_before' - .136) < 1e-9"
holds "abs(o->>'\$.moved[0].arrival' - .527064) < 1e-6"
holds "abs(o->>'\$.moved[1].coefficient_before' - 1.096803) < 1e-6"
cp out.json latest.json
json diff four.pricer near
cmp -s out.json latest.json || fail "the second plan is the latest by default"
expect 0 "arrival, plan 2" "$pricer" diff four.pricer 1 2
expect 0 "Every node arrives and counts the same" "$pricer" diff four.pricer 1 near
expect 1 "there is no plan strict" "$pricer" diff four.pricer strict
"$pricer" export four.pricer --to four >/dev/null || fail "export exited $?"
[ "$(sqlite3 :memory: -cmd '.import --csv four/forward_plan_node.csv n' \
    'SELECT count(*), round(max(arrival), 6) FROM n WHERE plan = 2')" = "4|0.9" ] || fail "export"
expect 0 "far" "$pricer" plans four.pricer --name 2=far --delete near
[ "$(sqlite3 four.pricer "SELECT (SELECT group_concat(plan) FROM forward_plan),
    (SELECT count(*) FROM forward_plan_node), (SELECT count(*) FROM plan_note)")" = "2|4|1" ] ||
    fail "what is left of forward plans is wrong"
exit $bad
