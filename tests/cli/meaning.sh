#!/usr/bin/env bash
# What the tables say about themselves: yardsticks, verdict and words against
# values computed by hand, the legend, the help, and the width of a page. $1:
# the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds EXPRESSION: SQL about m, the member "meaning" of out.json.
holds() {
    [ "$(sqlite3 :memory: "SELECT $1 FROM (SELECT
        readfile('out.json')->'meaning' AS m)" 2>&1)" = 1 ] ||
        fail "not so: $1: $(sqlite3 :memory: \
            "SELECT readfile('out.json')->'meaning'")"
}

# One node with full trust and an uplink p: with y = p alpha the worst case is
# R^2 ((1 - p) / p y^2 + (1 - y)^2), least at y = p, where it is (1 - p) R^2.
lone() { # p eps
    printf 'node,p\n0,%s\n' "$1" >nodes.csv
    printf 'from,to,p\n' >links.csv
    printf 'dimension: 8\nradius: 2\nnetwork:\n  files: {nodes: nodes.csv, links: links.csv}\ntrust:\n  eps: %s\n  delta: 1e-3\n  self: {eps: %s}\n' "$2" "$2" >lone.yaml
    "$pricer" new --force lone.pricer lone.yaml >/dev/null || fail "new $*"
    "$pricer" plan lone.pricer --decoder constant --json >out.json ||
        fail "plan $*"
}
lone 0.75 inf
holds "abs(m->>'error' - 1) < 1e-6 AND abs(m->>'share' - 0.25) < 1e-6"
holds "abs(m->>'distance' - 1) < 1e-6 AND m->>'centre' = 4"
holds "abs(m->>'alone' - 1) < 1e-5 AND m->>'verdict' = 'better'"
holds "abs(m->>'full_trust' - 1) < 1e-5 AND m->>'steady_links' < 1e-5"
holds "json_array_length(m, '\$.remedies') = 0"
expect 0 "100 %" "$pricer" plan lone.pricer --decoder constant
expect 0 "practically none" "$pricer" plan lone.pricer --decoder constant
expect 0 "VERDICT: better than always answering zero" \
    "$pricer" plan lone.pricer --decoder constant
expect 0 "25 % of its error" "$pricer" plan lone.pricer --decoder constant

# Seconds are those of the whole verb, of which the optimiser is a part.
[ "$(sqlite3 :memory: "SELECT o->>'seconds' > o->>'solve_seconds' AND o->>'solve_seconds' > 0
    FROM (SELECT readfile('out.json') AS o)")" = 1 ] || fail "seconds: $(cat out.json)"

# There is a verdict on every plan: 78.8 % has one as 80 % has.
lone 0.212 inf
holds "m->>'verdict' = 'only somewhat better' AND json_array_length(m, '\$.remedies') > 0"
expect 0 "VERDICT: only somewhat better than always answering zero" \
    "$pricer" plan lone.pricer --decoder constant
expect 0 "78.8 % of its error" "$pricer" plan lone.pricer --decoder constant

# p = 0.1: 90 % of R^2. Better uplinks, p = 0.55, leave 45 %; of four such nodes
# the mean has h / 4 in the place of h = (1 - p) / p = 9: 2.25 / 3.25.
lone 0.1 inf
holds "abs(m->>'share' - 0.9) < 1e-6 AND m->>'verdict' = 'hardly better'"
holds "m->>'\$.remedies[0].change' = 'every uplink failing half as often'"
holds "abs((m->>'\$.remedies[0].worst_case') / 4 - 0.45) < 1e-5"
holds "m->>'\$.remedies[1].change' LIKE '4 times as many nodes%'"
holds "abs((m->>'\$.remedies[1].worst_case') / 4 - 2.25 / 3.25) < 1e-5"
holds "json_array_length(m, '\$.remedies') = 2" # with full trust the rest does not help
expect 0 "VERDICT: hardly better than always answering zero" \
    "$pricer" plan lone.pricer --decoder constant
"$pricer" plan lone.pricer --decoder constant >out.txt
grep -qE '^every uplink failing half as often +1.8 +45 % +practically none, as now$' out.txt ||
    fail "no table of changes: $(cat out.txt)"

# An eps is proposed up to 10 and no further, with what is left of privacy.
for pair in "0.5 moderate,0,2" "1 weak,0,4" "2.5 weak,0,10" "3 weak where raised,1,10" "9 weak where raised,1,10"; do
    lone 0.9 "${pair%% *}"
    IFS=, read -r words capped eps <<<"${pair#* }"
    holds "(SELECT count(*) FROM json_each(m, '\$.remedies') WHERE value->>'change' =
        iif($capped, '4 times every eps below 10, to 10 at most', '4 times the eps of every budget')
        AND value->>'privacy' = '$words') = 1"
    worst=$(sqlite3 :memory: "SELECT printf('%.12g', value->>'worst_case')
        FROM json_each(readfile('out.json'), '\$.meaning.remedies') WHERE value->>'change' LIKE '4 times %eps%'")
    lone 0.9 "$eps"
    holds "abs(m->>'error' / $worst - 1) < 1e-4"
done
for eps in 10 12 1000; do
    lone 0.1 $eps
    holds "json_array_length(m, '\$.remedies') > 0 AND (SELECT count(*)
        FROM json_each(m, '\$.remedies') WHERE value->>'change' LIKE '%eps%') = 0"
done

# Fewer rounds, a smaller diameter and fewer dimensions are named, each with the error
# of a study that has it.
lone 0.9 3
for pair in "rounds=16 4_rounds_in_place_of_16 rounds=4" \
    "rounds=1 2_dimensions_in_place_of_8 dimension=2" \
    "rounds=1 diameter:_2,_if_a_node's_data_differ_by_no_more diameter=2"; do
    read -r before words after <<<"$pair"
    "$pricer" new --force lone.pricer lone.yaml --set "$before" >/dev/null || fail "new $before"
    "$pricer" plan lone.pricer --decoder constant --json >out.json || fail "plan $before"
    worst=$(sqlite3 :memory: "SELECT printf('%.12g', value->>'worst_case')
        FROM json_each(readfile('out.json'), '\$.meaning.remedies')
        WHERE value->>'change' = replace('${words//\'/\'\'}', '_', ' ') AND value->>'privacy' LIKE 'moderate,%'")
    "$pricer" new --force lone.pricer lone.yaml --set "$before" --set "$after" >/dev/null ||
        fail "new $after"
    "$pricer" plan lone.pricer --decoder constant --json >out.json || fail "plan $after"
    holds "abs(m->>'error' / ${worst:-0} - 1) < 1e-4"
done

# What relaying gains and the bottleneck: noise, links, nodes that are never heard.
pair() { # uplinks of two nodes, eps; the second reaches the first with p = 0.9
    printf 'node,p\n0,%s\n1,%s\n' "$1" "$2" >nodes.csv
    printf 'from,to,p\n1,0,%s\n' "$4" >links.csv
    "$pricer" new --force pair.pricer lone.yaml --set "trust.eps=$3" \
        --set "trust.self.eps=$3" >/dev/null || fail "new pair"
    "$pricer" plan pair.pricer --decoder constant | tr '\n' ' ' >out.txt
}
pair 0.9 0 1 0.9
grep -q "The bottleneck is the noise for privacy: without noise 0\." out.txt || fail "$(cat out.txt)"
pair 0.7 0.05 10000 0.9
grep -q "Relaying lowers the error at worst from .*The bottleneck is links that fail: with" out.txt ||
    fail "$(cat out.txt)"
pair 0.9 0 10000 0
grep -q "Relaying gains nothing: .* is nodes that are never heard: they alone cost 1\." out.txt ||
    fail "$(cat out.txt)"

# eps in words, and the bet (e + 0.001) / (1 + e) = 0.7313275.
for pair in "1 strong" "3 moderate" "10 weak" "10.5 practically none"; do
    lone 0.9 "${pair%% *}"
    holds "m->>'\$.uplink.words' = '${pair#* }'"
done
lone 0.9 1
holds "abs(m->>'\$.uplink.bet' - 0.7313275) < 1e-6"
# Noise decides: nothing helps as much as eps and dimension, both planned anew.
holds "m->>'verdict' = 'hardly better' AND m->>'steady_links' < m->>'error'"
holds "m->>'\$.remedies[0].change' = '4 times the eps of every budget'"
holds "m->>'\$.remedies[0].privacy' = 'weak'"

# Another bias term may be worse than the centre, and then that is the change.
"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
"$pricer" plan ten.pricer --bias l1 --lambda 0 --calibration classic \
    --decoder constant --json >out.json 2>/dev/null
holds "m->>'verdict' = 'worse' AND m->>'share' > 1"
holds "m->>'\$.remedies[0].worst_case' < 0.2 AND
    (SELECT count(*) FROM json_each(m, '\$.remedies')
        WHERE value->>'change' = '--bias worst-case') = 1"
"$pricer" plan ten.pricer --json >out.json
holds "m->>'verdict' = 'better' AND abs(m->>'alone' - 0.323781) < 1e-6"
holds "m->>'error' = readfile('out.json')->>'decoder_mse_upper'"

# The legend: alone, behind the tables, not in JSON; only where there are words.
expect 0 "ColRel" "$pricer" plan --explain
expect 0 "off by" "$pricer" simulate --explain
# Words of the other scheme are left out.
printf 'dimension: 2\nnetwork: {generator: ring, nodes: 4, p: 0.5, uplink: 0.5}\n%s\n' \
    'trust: {everyone: {eps: 4}}' >ring.yaml
"$pricer" new ring.pricer ring.yaml >/dev/null || fail "new exited $?"
expect 0 "  forward, H hops   " "$pricer" plan ring.pricer --explain
"$pricer" plan ring.pricer --explain | grep -q "ColRel" && fail "forward explains ColRel"
"$pricer" plan ten.pricer --explain | grep -q "H hops" && fail "sum explains hops"
expect 0 "floor" "$pricer" privacy ten.pricer --explain
expect 2 "--explain is for tables" "$pricer" plan ten.pricer --json --explain
expect 2 "there is no option --explain" "$pricer" show ten.pricer --explain

# Help, however it is asked for.
for words in "plan --help" "plan -h" "help plan" "--help plan" "-h plan"; do
    # shellcheck disable=SC2086
    expect 0 "usage: pricer plan" "$pricer" $words
done
expect 0 "verbs:" "$pricer" -h
expect 0 "verbs:" "$pricer" help
expect 2 "there is no verb 'plam'" "$pricer" help plam

# No line is wider than 100 columns.
narrow() {
    "$@" 2>&1 | awk -v what="$*" 'length > 100 { print what ": " $0; wide = 1 }
        END { exit wide }' || fail "wider than 100 columns"
}
narrow "$pricer" --help
for verb in $("$pricer" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    narrow "$pricer" "$verb" --help
done
# Long names and small numbers take much room.
printf '%s\n' 'dimension: 2' 'trust: {eps: 1, delta: 1e-6, server: {eps: 2, delta: 1e-6}}' \
    'network: {generator: ring, nodes: 3, p: 0.8, uplink: [0.9, 0.1, 0.1], names:' \
    '  [the-upper-end-of-the-old-harbour, the-lower-end-of-the-old-harbour, town]}' >long.yaml
"$pricer" new long.pricer long.yaml >/dev/null
narrow "$pricer" plan long.pricer
narrow "$pricer" privacy long.pricer
narrow "$pricer" advise long.pricer
grep -q 'the-upper.*(0)' <<<"$("$pricer" privacy long.pricer)" || fail "a name that is cut lost its number"
narrow "$pricer"-server --help
narrow "$pricer"-node --help
for verb in plan privacy simulate audit sweep; do
    narrow "$pricer" "$verb" --explain
done
narrow "$pricer" plan ten.pricer --what-if 3,4=2
narrow "$pricer" plan ten.pricer --bias l1 --lambda 0
narrow "$pricer" plan lone.pricer
narrow "$pricer" privacy ten.pricer
narrow "$pricer" simulate ten.pricer --trials 2000 --strategy unbiased
narrow "$pricer" show ten.pricer
narrow "$pricer" plans ten.pricer
narrow "$pricer" diff ten.pricer 1
narrow "$pricer" advise ten.pricer
narrow "$pricer" privacy ten.pricer --mode paper
narrow "$pricer" audit ten.pricer --trials 1000 --observer link
cp "$here"/examples/campus/*.csv .
sed 's/^  everyone: .*/  eps: 8\n  delta: 1e-5\n  server: {eps: 8}/' "$here"/examples/campus/campus.yaml >campus.yaml
"$pricer" new campus.pricer campus.yaml >/dev/null
narrow "$pricer" plan campus.pricer
# A column in which nothing stands is not shown; one in which something does is.
expect 0 "strategy  " "$pricer" simulate campus.pricer --trials 200
"$pricer" simulate campus.pricer --trials 200 2>/dev/null >out.txt
grep -q 'predicted\|against plan' out.txt && fail "an empty column: $(cat out.txt)"
expect 0 "off by" "$pricer" simulate campus.pricer --trials 200 --decoder constant
expect 0 "against plan" "$pricer" simulate campus.pricer --trials 200 --strategy best
# What observers learn, in words, before the tables.
"$pricer" privacy campus.pricer >out.txt
sed -n '2,4p' out.txt | grep -cE '^(link|relay|server) .* (moderate|weak) +(8|9)[0-9]\.[0-9]+ %$' |
    grep -qx 3 || fail "no summary in words: $(head -5 out.txt)"
narrow "$pricer" simulate campus.pricer --trials 200 --strategy naive --strategy unbiased \
    --strategy best --strategy colrel
narrow "$pricer" sweep "$here"/examples/paper.yaml --vary network.p=0.123456789,0.2 \
    --vary objective.bias=worst-case,unbiased --strategy naive --strategy best \
    --strategy colrel --privacy --trials 100 --to narrow
exit $bad
