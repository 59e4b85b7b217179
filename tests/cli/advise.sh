#!/usr/bin/env bash
# pricer advise: its curves against separate plans, its answers against each
# other, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds EXPRESSION: SQL about o, the JSON object in out.json, and p, in plan.json.
holds() {
    [ "$(sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('out.json') AS o,
        readfile('plan.json') AS p)" 2>&1)" = 1 ] || fail "not so: $1"
}
advise() {
    "$pricer" advise "$@" --json >out.json 2>err.txt ||
        fail "advise $* exited $?: $(cat err.txt)"
}
# separate SETTING...: the plan of a study of its own.
separate() {
    local sets=()
    for setting in "$@"; do
        sets+=(--set "$setting")
    done
    "$pricer" new --force one.pricer "${scenario:-$here/examples/paper.yaml}" "${sets[@]}" \
        >/dev/null &&
        "$pricer" plan one.pricer --decoder constant --tolerance 1e-10 --json >plan.json 2>err.txt ||
        fail "plan $*: $(cat err.txt)"
}

"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
before=$(sqlite3 ten.pricer .dump | md5sum)
started=$(date +%s%N)
advise ten.pricer --points 5 --span 16 --error 10% --eps 100
[ $(($(date +%s%N) - started)) -lt 2000000000 ] || fail "advise took more than 2 s"
[ "$(sqlite3 ten.pricer .dump | md5sum)" = "$before" ] || fail "advise changed the study"

# Every point of every curve is the optimum of a study of its own.
index=0
for factor in 0.0625 0.25 1 4 16; do
    large=$(awk "BEGIN { print 1000 * $factor }")
    links=("trust.eps=$factor" "trust.ring.eps=$large")
    server=("trust.self.eps=$large")
    kind=0
    for settings in "${links[*]}" "${server[*]}" "${links[*]} ${server[*]}"; do
        # shellcheck disable=SC2086
        separate $settings
        point="\$.curves[$kind].points[$index]"
        holds "abs(o->>'$point.objective' - p->>'objective') <= 1e-8 * (p->>'objective')"
        holds "abs(o->>'$point.factor' - $factor) < 1e-12 AND o->>'$point.gap' <= 1e-8"
        kind=$((kind + 1))
    done
    index=$((index + 1))
done
holds "(SELECT group_concat(value->>'towards') FROM json_each(o, '\$.curves')) = 'links,server,everyone'"
holds "(SELECT min(a.value->>'objective' > b.value->>'objective')
    FROM json_each(o, '\$.curves[2].points') a JOIN json_each(o, '\$.curves[2].points') b
    ON b.key = a.key + 1)"

# Wanted: the eps of an error has that error, and the error of an eps that eps.
holds "abs(o->>'\$.at_error.objective' - 0.1) < 1e-9"
holds "abs(o->>'\$.at_eps.eps' - 100) < 1e-9 AND abs(o->>'\$.at_eps.factor' - 0.1) < 1e-12"
separate trust.eps=0.1 trust.ring.eps=100 trust.self.eps=100
holds "abs(o->>'\$.at_eps.objective' - p->>'objective') < 1e-8 * (p->>'objective')"
cp out.json first.json
for towards in links server everyone; do
    advise ten.pricer --uplinks 0 --towards $towards --error 0.16
    eps=$(sqlite3 :memory: "SELECT printf('%.17g', readfile('out.json')->>'\$.at_error.eps')")
    advise ten.pricer --uplinks 0 --towards $towards --eps "$eps"
    holds "abs(o->>'\$.at_eps.objective' - 0.16) < 1e-8"
done
# An error that takes an eps beyond 10 is not proposed; the error at 10 is.
"$pricer" new three.pricer "$here"/examples/paper.yaml --set trust.eps=3 --set trust.ring.eps=3 \
    --set trust.self.eps=3 >/dev/null
expect 0 "with any privacy" "$pricer" advise three.pricer --error 20%
separate trust.eps=10 trust.ring.eps=10 trust.self.eps=10
error=$(sqlite3 :memory: "SELECT printf('%.4g', readfile('plan.json')->>'objective')")
expect 0 "With a largest eps of 10 (weak) the error is $error," \
    "$pricer" advise three.pricer --error 20%
# What helps, whatever the verdict is.
advise three.pricer --points 2 --uplinks 0
holds "(SELECT count(*) FROM json_each(o, '\$.remedies')
    WHERE value->>'change' LIKE 'diameter: 1,%' OR value->>'change' = '32 dimensions in place of 128') = 2"
holds "o->>'alone' > o->>'\$.here.worst_case' AND o->>'full_trust' < o->>'alone'"
expect 0 "Relaying lowers the error at worst from" "$pricer" advise three.pricer

expect 0 "cannot be reached by trust towards everyone" "$pricer" advise ten.pricer --error 0.05
expect 0 "cannot be reached" "$pricer" advise ten.pricer --error 12% --towards server
advise ten.pricer --error 0.05
holds "o->>'\$.at_error.factor' IS NULL AND o->>'\$.curves[2].full_trust' > 0.05"

# The best places for uplinks: better than every other, and what a plan says.
cp first.json out.json
holds "json_array_length(o, '\$.uplinks') = 3 AND o->>'\$.uplinks[0].all_sets'"
best=$(sqlite3 :memory: "SELECT readfile('out.json')->>'\$.uplinks[0].nodes[0]'")
uplinks_are() {
    sed "s/uplink: .*/uplink: [$1]/" "$here"/examples/paper.yaml >changed.yaml
    scenario=changed.yaml
}
uplinks=(0.1 0.1 0.8 0.1 0.1 0.9 0.1 0.1 0.9 0.1)
for node in 0 1 2 3 4 6 7 9; do
    changed=("${uplinks[@]}")
    changed[node]=0.9
    list=$(IFS=,; echo "${changed[*]}")
    uplinks_are "$list"
    separate
    holds "o->>'\$.uplinks[0].plan.objective' <= p->>'objective' * (1 + 1e-8)"
    [ "$node" != "$best" ] ||
        holds "abs(o->>'\$.uplinks[0].plan.objective' - p->>'objective') < 1e-8 * (p->>'objective')"
done

# The price of an uplink, by the difference that a small change makes.
holds "(SELECT max(value->>'price') < 0 AND count(*) = 12 FROM json_each(o, '\$.prices'))"
node=$(sqlite3 :memory: "SELECT value->>'from' FROM json_each(readfile('out.json'), '\$.prices')
    WHERE value->>'of' = 'uplink' LIMIT 1")
changed=("${uplinks[@]}")
changed[node]=$(awk "BEGIN { print ${uplinks[node]} + 0.0001 }")
uplinks_are "$(IFS=,; echo "${changed[*]}")"
separate
unset scenario
holds "abs((p->>'objective' - o->>'\$.here.objective') / 0.0001 /
    (SELECT value->>'price' FROM json_each(o, '\$.prices')
     WHERE value->>'of' = 'uplink' AND value->>'from' = $node) - 1) < 0.01"

# Budgets towards the server, a network without any, and one with full trust.
"$pricer" new server.pricer "$here"/examples/paper.yaml --set trust.server.eps=100 \
    --set trust.server.delta=1e-3 >/dev/null
advise server.pricer --points 3 --uplinks 1
holds "o->>'\$.curves[1].points[1].eps' = 100"
holds "(SELECT max(value->>'gap') FROM json_each(o, '\$.curves[1].points')) <= 1e-8"
"$pricer" new free.pricer "$here"/examples/paper.yaml --set trust.eps=inf \
    --set trust.ring.eps=inf --set trust.self.eps=inf >/dev/null
expect 0 "there is no trust to trade" "$pricer" advise free.pricer
expect 1 "there is no finite budget to change" "$pricer" advise free.pricer --error 10%

# Prices of links and of trust, both, each ordered; JSON has the two in one order.
"$pricer" advise ten.pricer >table.txt
[ "$(grep -c '^price of \(links\|trust\) ' table.txt)" -eq 2 ] || fail "no prices of both"
advise ten.pricer --points 2 --uplinks 0
holds "(SELECT count(*) FILTER (WHERE value->>'of' IN ('link', 'uplink')) = 6 AND count(*) = 12
    FROM json_each(o, '\$.prices'))"
holds "(SELECT min(value->>'saves' <= before) FROM (SELECT value,
    lag(value->>'saves', 1, 1.0) OVER (ORDER BY key) AS before FROM json_each(o, '\$.prices')))"

# The figure is well-formed, with a line for each curve, and draws no nonsense.
"$pricer" advise ten.pricer --figure curve.svg >table.txt || fail "no figure"
awk 'length > 100 { print; wide = 1 } END { exit wide }' table.txt || fail "too wide"
python3 - <<'END' || fail "the figure"
import re, xml.etree.ElementTree as tree
text = open('curve.svg', encoding='utf-8').read()
root = tree.fromstring(text)
lines = [p for p in root.iter('{http://www.w3.org/2000/svg}path') if p.get('fill') == 'none']
assert len(lines) == 3 and len({p.get('stroke-dasharray') for p in lines}) == 3
assert not re.search(r'\b(nan|inf)\b', text)
END
expect 1 "/nonexistent/x.svg" "$pricer" advise ten.pricer --figure /nonexistent/x.svg

expect 1 "neither a number above 0 nor a share" "$pricer" advise ten.pricer --error ten
expect 2 "--span" "$pricer" advise ten.pricer --span 0.5
expect 2 "--points" "$pricer" advise ten.pricer --points 66
expect 2 "--uplinks" "$pricer" advise ten.pricer --uplinks 9
expect 2 "--uplink-p" "$pricer" advise ten.pricer --uplink-p 2
expect 1 "none.pricer" "$pricer" advise none.pricer
exit $bad
