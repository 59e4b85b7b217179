#!/usr/bin/env bash
# pricer report: well-formed pages with the right sections for studies of every
# age. $1: the build folder.
set -euo pipefail
pricer=$(realpath "$1")/pricer
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$root"/tests/expect.sh

# A page parses as XML, loads nothing, and its drawings hold only numbers.
check() { # page, sections that must be there
    python3 - "$@" <<'END' || fail "$1"
import re, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding="utf-8").read()
page = tree.fromstring(text.replace("<!DOCTYPE html>", ""))
sections = [s.get("id") for s in page.iter("section")]
assert sections == sys.argv[2:], sections
assert "<script" not in text and "url(" not in text and "src=" not in text
assert not re.search(r"\b-?(nan|inf)\b", re.sub(r"<pre>.*?</pre>", "", text,
                                                flags=re.S)), "nan or inf"
svg = "{http://www.w3.org/2000/svg}"
for name in ("line", "rect", "circle"):
    for shape in page.iter(svg + name):
        for key in ("x", "y", "cx", "cy", "x1", "y1", "x2", "y2", "r", "width",
                    "height"):
            if shape.get(key) is not None:
                value = float(shape.get(key))
                assert -1 <= value <= 2000, (name, key, value)
END
}

cp "$root"/examples/paper.yaml 'a<b>&"c.yaml'
"$pricer" new 'odd<name>&.pricer' 'a<b>&"c.yaml' >/dev/null
"$pricer" report 'odd<name>&.pricer' -o new.html >/dev/null
check new.html network recipe
grep -q 'no plan yet' new.html || fail "what is missing is not said"

"$pricer" plan 'odd<name>&.pricer' >/dev/null
"$pricer" report 'odd<name>&.pricer' -o planned.html >/dev/null
all="network relays error decoder agreement privacy curve price certificate recipe"
# shellcheck disable=SC2086
check planned.html $all
grep -q 'adaptive, no guarantee' planned.html || fail "decoders are missing"
grep -q 'pricer simulate' planned.html || fail "simulate is not named"

"$pricer" simulate 'odd<name>&.pricer' --trials 2000 >/dev/null
"$pricer" report 'odd<name>&.pricer' -o full.html >/dev/null
# shellcheck disable=SC2086
check full.html $all
grep -q 'simulated, 2000 trials' full.html || fail "the simulation is missing"
"$pricer" report 'odd<name>&.pricer' --output - >again.html
cmp -s full.html again.html || fail "two pages of one study differ"

# Places, and more nodes than are drawn.
"$pricer" new places.pricer "$root/examples/scattered.yaml" >/dev/null
"$pricer" plan places.pricer >/dev/null
"$pricer" report places.pricer -o places.html >/dev/null
# shellcheck disable=SC2086
check places.html $all
"$pricer" new many.pricer "$root/examples/geometric.yaml" \
    --set network.nodes=400 >/dev/null
"$pricer" plan many.pricer --tolerance 1e-4 --threads 1 >/dev/null 2>&1
"$pricer" report many.pricer -o many.html >/dev/null
# shellcheck disable=SC2086
check many.html $all
grep -q 'Drawn are the 120 of 400' many.html || fail "the choice is not said"

# Budgets towards the server: what each asks for, kept; and not kept by weights
# that were given with too little noise.
printf '%s\n' 'dimension: 3' 'rounds: 4' \
    'network: {generator: ring, nodes: 6, p: 0.8, uplink: 0.5}' \
    'trust: {eps: 2, delta: 1e-4, server: {eps: 3, delta: 1e-5}}' >server.yaml
"$pricer" new server.pricer server.yaml >/dev/null
"$pricer" plan server.pricer >/dev/null
"$pricer" report server.pricer -o server.html >/dev/null
grep -q 'budget towards the server, ε' server.html || fail "no server budgets"
grep -q 'show the server more than their budget</td><td>0<' server.html ||
    fail "the certificate does not say that server budgets are kept"
grep -q '⚠' server.html && fail "a budget that is kept has a warning"
# The best plan spends all of some node's budget: its delta is the budget's. The
# row is eps, delta, nodes, delta by the nodes' own noise.
python3 - server.html <<'END' || fail "delta towards the server"
import re, sys
text = open(sys.argv[1], encoding='utf-8').read()
table = text.split('budget towards the server, ε')[1].split('</table>')[0]
eps, delta, nodes, found = re.findall(r'<td>([^<]*)</td>', table)
assert (eps, delta, nodes) == ('3', '1e-05', '6'), table
assert .99e-5 <= float(found) <= 1e-5, found
END
printf 'from,to,alpha,sigma\n0,0,1,0.1\n' >bare.csv
"$pricer" plan server.pricer --weights bare.csv >/dev/null 2>&1
"$pricer" report server.pricer -o server.html >/dev/null
grep -q '1 nodes show the server more than their budget allows' server.html ||
    fail "an open server budget is not said"
grep -q '⚠' server.html || fail "an open server budget has no warning"
grep -q 'budget towards the server' places.html && fail "budgets where there are none"

# Mistakes.
status=0
"$pricer" report places.pricer --plan 9 -o no.html 2>messages >out || status=$?
[ $status -eq 1 ] && [ ! -e no.html ] || fail "a plan that is not there"
status=0
"$pricer" report places.pricer -o /nonexistent/no.html 2>messages || status=$?
[ $status -eq 1 ] || fail "a folder that is not there"

exit $bad
