#!/usr/bin/env bash
# pricer plan as a user runs it: the reference optima, what it stores, what it
# says about other people's plans, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds EXPRESSION: SQL about o, the JSON object in out.json (and e, the one in
# exact.json).
holds() {
    [ "$(sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('out.json') AS o,
        readfile('exact.json') AS e)" 2>&1)" = 1 ] || fail "not so: $1"
}

# Fitting the decoder takes nearly all of the time; where it is not what a run is
# about, the run goes without.
plain=(--decoder constant)

# plan ARGUMENT...: into out.json.
plan() {
    "$pricer" plan "$@" --json >out.json 2>err.txt ||
        fail "plan $* exited $?: $(cat err.txt)"
}

# The reference optima, to the digits given.
"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
for p_c in 0.1 0.5 0.9; do
    "$pricer" new ten$p_c.pricer "$here"/examples/paper.yaml \
        --set network.p=$p_c >/dev/null
done
cell() { # p_c bias lambda objective bias_l1 worst_case
    local lambda=()
    [ "$3" = - ] || lambda=(--lambda "$3")
    plan "ten$1.pricer" --calibration classic --bias "$2" "${lambda[@]}" "${plain[@]}"
    holds "abs(o->>'objective' - $4) < iif(length('$4') < 7, 6e-5, 6e-6)"
    holds "abs(o->>'bias_l1' - $5) < 6e-3 AND o->>'gap' <= 1e-8"
    holds "abs(o->>'mse_worst_case' - $6) < 6e-4"
}
cell 0.1 l1 0 0.04463 12.84 1.690
cell 0.1 l1 0.1 0.38328 0.397 0.3436
cell 0.1 l1 0.5 0.39688 0 0.3969
cell 0.1 worst-case - 0.2204 3.042 0.2204
cell 0.5 l1 0 0.04460 12.604 1.6313
cell 0.5 l1 0.1 0.14957 0 0.1496
cell 0.5 l1 0.5 0.14957 0 0.1496
cell 0.5 worst-case - 0.1027 1.329 0.1027
cell 0.9 l1 0.1 0.08161 0 0.0816
cell 0.9 worst-case - 0.0565 0.824 0.0565

# A budget towards the server: kept, divided evenly, priced, and in the study.
"$pricer" new server.pricer "$here"/examples/paper.yaml \
    --set network.p=0.5 --set trust.server.eps=100 \
    --set trust.server.delta=1e-3 >/dev/null
plan server.pricer
holds "o->>'objective' > 0.45401564 AND o->>'gap' <= 1e-8" # the best division has that
holds "o->>'open_links' = 0 AND o->>'open_budgets' = 0"
holds "(SELECT max(value->>'server') FROM json_each(o->'prices')) = 1"
expect 0 "all 10 nodes with a budget towards the server keep it" \
    "$pricer" plan server.pricer "${plain[@]}"
expect 0 "forward' (trust.everyone) divides nothing" "$pricer" plan server.pricer "${plain[@]}"

# No plan rests on the noise of others.
expect 2 "there is no option --others" "$pricer" plan server.pricer --others
expect 0 "all 10 nodes with a budget towards the server keep it" \
    "$pricer" plan server.pricer --method gradient --iterations 1000
[ "$(sqlite3 server.pricer "SELECT count(*), min(server_eps), min(server_delta)
    FROM node")" = "10|100.0|0.001" ] || fail "the study has no server budgets"
"$pricer" report server.pricer -o server.html >/dev/null ||
    fail "no report of a study with server budgets"

# The contract's keys, in JSON; all numbers agree with each other.
plan ten.pricer
holds "(SELECT group_concat(key) FROM (SELECT key FROM json_each(o) LIMIT 16)) =
    'nodes,links,bias,lambda,calibration,method,objective,variance,piv,tiv,' ||
    'mse_paper,mse_worst_case,bias_l1,gap,iterations,seconds'"
holds "(o->>'nodes', o->>'links', o->>'bias', o->>'calibration', o->>'method') =
    (10, 90, 'worst-case', 'analytic', 'exact')"
holds "abs(o->>'mse_paper' - o->>'tiv' - o->>'piv') < 1e-12"
holds "o->>'objective' = o->>'mse_worst_case'"
holds "o->>'feasible' AND o->>'open_links' = 0 AND NOT o->>'stopped'"
holds "o->>'objective' < (SELECT min(value->>'objective')
    FROM json_each(o, '\$.baselines') WHERE key <> 'colrel')"
holds "o->>'objective' > o->>'\$.baselines.colrel.objective'"
holds "json_array_length(o, '\$.prices') = 10"
holds "(SELECT max(value->>'price') < 0 AND group_concat(value->>'price') =
    (SELECT group_concat(p) FROM (SELECT value->>'price' AS p
        FROM json_each(o, '\$.prices') ORDER BY p))
    FROM json_each(o, '\$.prices'))"
says() { # WORDS...: each of them is in table.txt
    for words in "$@"; do
        grep -qF -- "$words" table.txt || fail "the table does not say '$words': $(cat table.txt)"
    done
}
"$pricer" plan ten.pricer >table.txt 2>&1 || fail "plan exited $?: $(cat table.txt)"
says "no collaboration, best" "Certified: no plan has an objective below" \
    "keep their (eps, delta) over 1 round" "price of trust" "relays that carry most" \
    "this plan's decoder, at most" "any plan and any linear decoder, at least"
"$pricer" plan ten.pricer --calibration classic "${plain[@]}" >table.txt 2>&1 ||
    fail "plan exited $?: $(cat table.txt)"
says "the classic noise is proved for eps <= 1 only" "NOT PRIVATE"

# What is stored is what was printed.
plan ten.pricer --bias l2 --lambda 0.25 "${plain[@]}"
[ "$(sqlite3 ten.pricer "SELECT bias, lambda, method,
    objective = readfile('out.json')->>'objective'
    FROM plan ORDER BY plan DESC LIMIT 1")" = "l2|0.25|exact|1" ] ||
    fail "the stored plan differs from the printed one"
[ -z "$(sqlite3 ten.pricer 'PRAGMA foreign_key_check')" ] ||
    fail "a plan has dangling references"
for n in 1 2; do
    "$pricer" new same$n.pricer "$here"/examples/paper.yaml >/dev/null
    SOURCE_DATE_EPOCH=1700000000 "$pricer" plan same$n.pricer --threads 1 >/dev/null
done
[ "$(sqlite3 same1.pricer .dump)" = "$(sqlite3 same2.pricer .dump)" ] ||
    fail "two plans of one study differ"

# A plan that goes out and comes in again is judged the same.
plan ten.pricer --bias l1 --lambda 0.1 "${plain[@]}"
cp out.json exact.json
sqlite3 -header -csv ten.pricer "
    SELECT from_node AS 'from', to_node AS 'to',
        printf('%.17g', weight) AS alpha, printf('%.17g', noise) AS sigma
    FROM plan_link JOIN link USING (link)
    WHERE plan = (SELECT max(plan) FROM plan)
    UNION ALL SELECT node, node, printf('%.17g', weight),
        printf('%.17g', noise) FROM plan_node
    WHERE plan = (SELECT max(plan) FROM plan)" >mine.csv
plan ten.pricer --bias l1 --lambda 0.1 --weights mine.csv "${plain[@]}"
holds "o->>'method' = 'given' AND o->>'open_links' = 0 AND o->>'gap' < 1e-7"
holds "abs(o->>'objective' - e->>'objective') < 1e-12"
printf 'from,to,alpha,sigma\n0,0,1,0\n' >bare.csv
plan ten.pricer --weights bare.csv "${plain[@]}"
holds "o->>'open_links' = 1 AND o->>'gap' BETWEEN 0.1 AND 1"
expect 0 "NOT PRIVATE: 1 of 100" "$pricer" plan ten.pricer --weights bare.csv "${plain[@]}"
printf 'from,to,alpha,sigma\n0,0,1,0\n0,17,1,0\n' >wrong.csv
expect 1 "wrong.csv:3: there is no node 17" \
    "$pricer" plan ten.pricer --weights wrong.csv
expect 1 "none.csv" "$pricer" plan ten.pricer --weights none.csv

# The paper's method: above the optimum, and it says by how much.
plan ten.pricer --bias l1 --lambda 0.1 --method gradient --iterations 20000 \
    --starts 2 --trace trace.csv --trace-every 1000 "${plain[@]}"
holds "o->>'method' = 'gradient' AND o->>'gap' BETWEEN 1e-4 AND 0.5"
holds "o->>'iterations' = 40000"
[ "$(wc -l <trace.csv)" -eq 43 ] || fail "the trace has $(wc -l <trace.csv) lines"
[ "$(head -1 trace.csv)" = start,iteration,objective ] || fail "trace header"
expect 1 "diverges" "$pricer" plan ten.pricer --bias l2 --lambda 1 \
    --method gradient --step 1000 --iterations 100
expect 1 "cannot hold a plan unbiased" "$pricer" plan ten.pricer \
    --bias unbiased --method gradient

# A descent from a given point: a file, or the study's latest plan. It has one start,
# and goes on where the descent before it ended.
printf 'from,to,alpha,sigma\n0,0,1,0\n2,2,1,0.1\n' >start.csv
descent=(--bias l1 --lambda 0.1 --method gradient --iterations 500 --trace-every 500
    "${plain[@]}")
plan ten.pricer --weights start.csv --trace first.csv "${descent[@]}"
holds "o->>'method' = 'gradient' AND o->>'iterations' = 500"
plan ten.pricer --warm --trace next.csv "${descent[@]}"
holds "o->>'method' = 'gradient' AND o->>'iterations' = 500"
[ "$(sed -n 3p first.csv | cut -d, -f3)" = "$(sed -n 2p next.csv | cut -d, -f3)" ] ||
    fail "--warm does not begin where the last descent ended"
[ "$(sqlite3 ten.pricer 'SELECT method FROM plan ORDER BY plan DESC LIMIT 1')" = gradient ] ||
    fail "a descent from a file is stored as another method"
expect 2 "are for random starts" "$pricer" plan ten.pricer --method gradient --warm --starts 3
expect 2 "are for random starts" "$pricer" plan ten.pricer --method gradient \
    --weights start.csv --seed 3
expect 2 "two starting points" "$pricer" plan ten.pricer --weights start.csv --warm

# What if: trust withdrawn costs, given it helps; the study keeps what it had.
before=$(sqlite3 ten.pricer 'SELECT count(*) FROM plan')
plan ten.pricer --what-if 4,5=2 --what-if 0,0=inf "${plain[@]}"
holds "o->>'\$.what_if.difference' > 0 AND o->>'\$.what_if.gap' <= 1e-8"
holds "o->>'\$.what_if.changes[0].eps' = 2 AND
    o->>'\$.what_if.changes[0].eps_before' = 1000 AND
    o->>'\$.what_if.changes[1].eps' = 'inf'"
[ "$(sqlite3 ten.pricer 'SELECT count(*) FROM plan')" -eq $((before + 1)) ] ||
    fail "--what-if stored its plan"
plan ten.pricer --what-if 2,2=1010 --tolerance 1e-10 "${plain[@]}"
holds "abs(o->>'\$.what_if.difference' / o->>'\$.what_if.predicted' - 1) < 0.01"
expect 0 "What if 3,4 had eps 2 instead of 1000" "$pricer" plan ten.pricer --what-if 3,4=2 "${plain[@]}"
expect 2 "NODE,NODE=EPS" "$pricer" plan ten.pricer --what-if 3-4=2
expect 1 "there is no node 77" "$pricer" plan ten0.1.pricer --what-if 3,77=2
expect 1 "eps = -2" "$pricer" plan ten.pricer --what-if 3,4=-2
expect 0 "Certified" "$pricer" plan ten.pricer --warm "${plain[@]}"

# Contradictions are misuse.
expect 2 "belong to --method gradient" "$pricer" plan ten.pricer --starts 3
expect 2 "--what-if needs the exact method" "$pricer" plan ten.pricer \
    --weights mine.csv --what-if 0,1=1
expect 2 "--lambda belongs to" "$pricer" plan ten.pricer --bias unbiased --lambda 1
expect 1 "--lambda belongs to" "$pricer" plan ten.pricer --lambda 1
expect 1 "need a lambda" "$pricer" plan ten.pricer --bias l1
expect 1 "need a lambda" "$pricer" plan ten.pricer --bias l2
expect 2 "'0' for --starts" "$pricer" plan ten.pricer --method gradient --starts 0
expect 2 "'0' for --iterations" "$pricer" plan ten.pricer --iterations 0
expect 2 "'0' for --tolerance" "$pricer" plan ten.pricer --tolerance 0
# Numbers beyond the computer's are refused in words.
"$pricer" new vast.pricer "$here"/examples/paper.yaml --set radius=1e200 >/dev/null
expect 1 "is not a finite number" "$pricer" plan vast.pricer
# Stored, and not printed, is not the same as neither.
expect 1 "is stored in the study, but cannot be printed" \
    bash -c "'$pricer' plan ten.pricer --decoder constant >/dev/full"
expect 2 "cannot take 'l3'" "$pricer" plan ten.pricer --bias l3
expect 1 "lambda = -1" "$pricer" plan ten.pricer --bias l1 --lambda -1
expect 1 "lambda = inf" "$pricer" plan ten.pricer --bias l1 --lambda inf
expect 1 "tolerance = 2" "$pricer" plan ten.pricer --tolerance 2
expect 1 "none.pricer" "$pricer" plan none.pricer

# Networks where there is little or nothing to plan. A failure stores nothing.
network() { # nodes links
    printf '%b' "$1" >nodes.csv
    printf '%b' "$2" >links.csv
    printf 'dimension: 8\nradius: 1\nnetwork:\n  files: {nodes: nodes.csv, links: links.csv}\ntrust:\n  eps: 1\n  delta: 1e-3\n' >files.yaml
    "$pricer" new --force odd.pricer files.yaml >/dev/null || fail "new: $1 $2"
}
network 'node,p\n0,0.5\n1,0.5\n2,0\n3,0\n' 'from,to,p\n0,1,0.5\n3,0,0.5\n'
expect 1 "2" "$pricer" plan odd.pricer --bias unbiased
[ "$(sqlite3 odd.pricer 'SELECT count(*) FROM plan')" -eq 0 ] ||
    fail "a failed plan was stored"
plan odd.pricer
network 'node,p\n0,1e-12\n1,0\n' 'from,to,p\n0,1,0.5\n'
plan odd.pricer
holds "abs(o->>'objective' - 1) < 1e-9 AND abs(o->>'bias_l1' - 2) < 1e-9"
network 'node,p\n0,0.5\n' 'from,to,p\n'
plan odd.pricer
holds "o->>'links' = 0 AND o->>'gap' <= 1e-8 AND o->>'objective' < 1"
expect 0 "No node relays for another" "$pricer" plan odd.pricer
network 'node,p\n0,1\n1,1\n2,1\n' 'from,to,p,eps\n0,1,1,inf\n1,2,0.5,inf\n'
plan odd.pricer --bias unbiased
holds "o->>'objective' < 1e-12"
network 'node,p\n0,0.5\n1,0.5\n' 'from,to,p,eps\n0,1,0.5,1e-9\n'
plan odd.pricer
holds "o->>'objective' <= o->>'\$.baselines.best.objective' * (1 + 1e-8)"

# The decoder: a bracket below the constant decoder's error and above the floor,
# stored with the plan; left out on request, and of large networks by itself.
plan ten.pricer
holds "(o->>'decoder', o->>'zero_mse') = ('minimax', 1)"
holds "o->>'decoder_mse_upper' < 0.8 * (o->>'mse_worst_case')"
holds "o->>'decoder_mse_lower' BETWEEN 0.95 * (o->>'decoder_mse_upper') AND o->>'decoder_mse_upper'"
holds "o->>'mse_floor' BETWEEN 0.5 * (o->>'decoder_mse_lower') AND o->>'decoder_mse_lower'"
holds "o->>'decoder_mse_upper_stderr' BETWEEN 1e-6 AND 1e-3"
[ "$(sqlite3 ten.pricer "SELECT count(*), upper = readfile('out.json')->>'decoder_mse_upper',
    horizon, blend > 0 FROM decoder JOIN decoder_node USING (plan)
    WHERE plan = readfile('out.json')->>'plan'")" = '10|1|1.0|1' ] ||
    fail "the stored decoder differs from the printed one"
cp out.json exact.json
for threads in 1 3; do
    plan ten.pricer --threads $threads
    holds "o->>'decoder_mse_upper' = e->>'decoder_mse_upper' AND
        o->>'mse_floor' = e->>'mse_floor'"
done
plan ten.pricer --bias unbiased
[ "$(sqlite3 ten.pricer "SELECT horizon FROM decoder ORDER BY plan DESC LIMIT 1")" = Inf ] ||
    fail "the decoder of an unbiased plan is biased"
plan ten.pricer --weights bare.csv
holds "o->>'mse_floor' IS NULL" # it binds plans that keep their budgets
plan ten.pricer --decoder constant
holds "o->>'decoder' = 'constant' AND o->>'decoder_mse_upper' = o->>'mse_worst_case' AND
    o->>'decoder_mse_lower' IS NULL"
[ "$(sqlite3 ten.pricer 'SELECT max(decoder.plan) < max(plan.plan) FROM decoder, plan')" = 1 ] ||
    fail "a decoder was stored that nobody asked for"
expect 2 "--decoder" "$pricer" plan ten.pricer --decoder adaptive

cat >four.yaml <<END
dimension: 16
network: {generator: erdos-renyi, nodes: 4, uplink: 0.2, p: 0.7, good: {count: 1, uplink: 0.9}}
trust: {eps: 1, delta: 1e-3, ring: {hops: 1, eps: 100}}
END

# The decoder of an unbiased plan is unbiased.
"$pricer" new ever.pricer four.yaml >/dev/null 2>&1
expect 0 "Its estimates are unbiased" "$pricer" plan ever.pricer --bias unbiased
"$pricer" new wide.pricer "$here"/examples/geometric.yaml \
    --set network.nodes=301 >/dev/null 2>&1
expect 0 "--decoder minimax fits a better one" "$pricer" plan wide.pricer

# Ctrl-C stores the best plan so far, with its gap. The network is large enough
# for the signal to arrive in time on any machine; should planning be done
# before, the plan is simply complete.
"$pricer" new big.pricer "$here"/examples/geometric.yaml \
    --set network.nodes=20000 >/dev/null 2>&1
"$pricer" plan big.pricer --tolerance 1e-12 --json >out.json 2>err.txt &
job=$!
sleep 1
kill -INT $job 2>/dev/null
wait $job || fail "plan exited $? after Ctrl-C: $(cat err.txt)"
holds "o->>'feasible' AND o->>'open_links' = 0 AND o->>'gap' >= 0"
[ "$(sqlite3 big.pricer 'SELECT count(*) FROM plan')" -eq 1 ] ||
    fail "Ctrl-C lost the plan"
exit $bad
