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
lone 0.5 inf
holds "abs(m->>'error' - 2) < 1e-6 AND abs(m->>'share' - 0.5) < 1e-6"
holds "abs(m->>'distance' - sqrt(2)) < 1e-6 AND m->>'centre' = 4"
holds "abs(m->>'alone' - 2) < 1e-5 AND m->>'verdict' = 'better'"
holds "abs(m->>'full_trust' - 2) < 1e-5 AND m->>'steady_links' < 1e-5"
holds "json_array_length(m, '\$.remedies') = 0"
expect 0 "100 %" "$pricer" plan lone.pricer --decoder constant
expect 0 "practically none" "$pricer" plan lone.pricer --decoder constant

# p = 0.1: 90 % of R^2. Better uplinks, p = 0.55, leave 45 %; of four such nodes
# the mean has h / 4 in the place of h = (1 - p) / p = 9: 2.25 / 3.25.
lone 0.1 inf
holds "abs(m->>'share' - 0.9) < 1e-6 AND m->>'verdict' = 'hardly better'"
holds "m->>'\$.remedies[0].change' = 'every uplink failing half as often'"
holds "abs((m->>'\$.remedies[0].worst_case') / 4 - 0.45) < 1e-5"
holds "m->>'\$.remedies[1].change' LIKE '4 times as many nodes%'"
holds "abs((m->>'\$.remedies[1].worst_case') / 4 - 2.25 / 3.25) < 1e-5"
holds "abs((m->>'\$.remedies[2].worst_case') / 4 - 0.9) < 1e-5"
expect 0 "VERDICT: hardly better than answering the centre" \
    "$pricer" plan lone.pricer --decoder constant
expect 0 "Helps most: every uplink failing half as often, which leaves 45 %." \
    "$pricer" plan lone.pricer --decoder constant

# All changes in one sentence, each once, parted by one semicolon.
lone 0.1 3
"$pricer" plan lone.pricer --decoder constant --bias l1 --lambda 1 >out.txt 2>/dev/null
sentence=$(sed -n '/^(/,/)$/p' out.txt | tr '\n' ' ')
grep -qE '^\(([^;()]+ [0-9.e+]+ %; ){3}[^;()]+ [0-9.e+]+ %\) $' <<<"$sentence" ||
    fail "the other changes read '$sentence': $(cat out.txt)"

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
"$pricer" privacy long.pricer | grep -q 'the-upper.*(0)' || fail "a name that is cut lost its number"
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
"$pricer" new campus.pricer "$here"/examples/campus/campus.yaml >/dev/null
narrow "$pricer" plan campus.pricer
# A column in which nothing stands is not shown; one in which something does is.
expect 0 "strategy  " "$pricer" simulate campus.pricer --trials 200
"$pricer" simulate campus.pricer --trials 200 2>/dev/null >out.txt
grep -q 'predicted\|against plan' out.txt && fail "an empty column: $(cat out.txt)"
expect 0 "off by" "$pricer" simulate campus.pricer --trials 200 --decoder constant
expect 0 "against plan" "$pricer" simulate campus.pricer --trials 200 --strategy best
# What observers learn, in words, before the tables.
"$pricer" privacy campus.pricer >out.txt
sed -n '2,4p' out.txt | grep -cE '^(link|relay|server) .* weak +99.9[0-9] %$' |
    grep -qx 3 || fail "no summary in words: $(head -5 out.txt)"
narrow "$pricer" simulate campus.pricer --trials 200 --strategy naive --strategy unbiased \
    --strategy best --strategy colrel
narrow "$pricer" sweep "$here"/examples/paper.yaml --vary network.p=0.123456789,0.2 \
    --vary objective.bias=worst-case,unbiased --strategy naive --strategy best \
    --strategy colrel --privacy --trials 100 --to narrow
exit $bad
