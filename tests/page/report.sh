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
grep -q 'Verdict: better than always answering zero.*has a root mean squared error of at most' \
    planned.html || fail "no verdict"
! grep -q 'typically' planned.html || fail "typically, at worst"

"$pricer" simulate 'odd<name>&.pricer' --trials 2000 >/dev/null
"$pricer" report 'odd<name>&.pricer' -o full.html >/dev/null
# shellcheck disable=SC2086
check full.html $all
grep -q 'simulated, 2000 trials' full.html || fail "the simulation is missing"
grep -q 'How the expected errors given the links of the simulated rounds' full.html ||
    fail "the histogram is not of squared errors"
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
# Every node is in one of the boxes, and what the caption says of the ways to the
# server is what the plan's weights say.
python3 - many.html many.pricer <<'END' || fail "cells"
import re, sqlite3, sys
text = open(sys.argv[1], encoding='utf-8').read()
counts = [int(n) for n in re.findall(r'class="count"[^>]*>(\d+)<', text)]
assert sum(counts) == 400 and 9 < len(counts) < 100, counts
said = re.search(r'([\d.]+) % comes over nodes’ own uplinks, ([\d.]+) % over relays of '
                 r'the same box and ([\d.]+) % over relays of another', text)
said = [float(n) for n in said.groups()]
ask = sqlite3.connect(sys.argv[2]).execute
own, = ask('SELECT sum(n.p * w.weight) FROM plan_node w JOIN node n USING (node)').fetchone()
relayed, = ask('SELECT sum(l.p * n.p * w.weight) FROM plan_link w JOIN link l USING (link)'
               ' JOIN node n ON n.node = l.to_node').fetchone()
assert abs(said[0] - 100 * own / (own + relayed)) < .06, (said, own, relayed)
assert abs(said[1] + said[2] - 100 * relayed / (own + relayed)) < .06, said
places = dict((n, (x, y)) for n, x, y in ask('SELECT node, x, y FROM node'))
low = [min(p[k] for p in places.values()) for k in (0, 1)]
high = [max(p[k] for p in places.values()) for k in (0, 1)]
squares = round(len(counts) ** .5)
assert squares ** 2 == len(counts), counts
step = max(h - l for l, h in zip(low, high)) / squares
box = {n: tuple(min(int((p[k] - low[k]) / step), squares - 1) for k in (0, 1))
       for n, p in places.items()}
across = sum(share for a, b, share in ask(
    'SELECT from_node, to_node, l.p * n.p * w.weight FROM plan_link w JOIN link l USING (link)'
    ' JOIN node n ON n.node = l.to_node') if box[a] != box[b])
assert abs(said[2] - 100 * across / (own + relayed)) < .06, (said, across)
END

# Budgets towards the server: what each asks for, kept; and not kept by weights
# that were given with too little noise. No node has a neighbour: each spends its
# whole budget on its uplink.
printf '%s\n' node,p 0,.5 1,.5 2,.5 3,.5 4,.5 5,.5 >lone-nodes.csv
echo from,to,p >lone-links.csv
printf '%s\n' 'dimension: 3' 'rounds: 4' \
    'network: {files: {nodes: lone-nodes.csv, links: lone-links.csv}}' \
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
# What rounds have cost: at the last of four a budget is spent, before it as much as
# the Gaussian mechanism says, and a round that was withheld costs nothing.
printf '%s\n' 'dimension: 3' 'rounds: 4' 'trust: {eps: 2, delta: 1e-4}' \
    'network: {generator: ring, nodes: 6, p: 0.8, uplink: [0.9, 0.1, 0.1, 0.9, 0.1, 0.1]}' >link.yaml
"$pricer" new link.pricer link.yaml >/dev/null
"$pricer" plan link.pricer >/dev/null
for study in link server; do
    sqlite3 $study.pricer "WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 6)
        INSERT INTO round (round, plan, attempts, arrived, contributors, weight, decoder)
        SELECT n, 1, 1, 3, 4, 0.8, 'constant' FROM k;
        INSERT INTO withheld SELECT round, node, -1, 'spent' FROM round, node WHERE round > 4;
        INSERT INTO withheld SELECT round, from_node, link, 'spent' FROM round, link WHERE round > 4"
    "$pricer" report $study.pricer -o $study-spent.html >/dev/null
done
python3 - link-spent.html server-spent.html <<'END' || fail "what rounds have cost"
import math, re, sys

def normal(x):
    return .5 * math.erfc(-x / math.sqrt(2))

def eps_of(mu, delta):
    low, high = 0, 50
    for _ in range(60):
        eps = (low + high) / 2
        law = normal(mu / 2 - eps / mu) - math.exp(eps) * normal(-mu / 2 - eps / mu)
        low, high = (eps, high) if law > delta else (low, eps)
    return high

for page, budget, delta in zip(sys.argv[1:], (2, 3), (1e-4, 1e-5)):
    text = open(page, encoding='utf-8').read()
    drawing = text.split('aria-label="What the rounds have cost"')[1].split('</svg>')[0]
    level, = re.findall(r'y1="([\d.]+)" x2="526"[^>]*dasharray', drawing)
    line, = re.findall(r'stroke-width="2" stroke-dasharray="none" '
                       r'd="M[\d.]+ [\d.]+(M[^"]*)"', drawing)
    spent = [budget * (322 - float(y)) / (322 - float(level))
             for y in re.findall(r'[ML][\d.]+ ([\d.]+)', line)]
    low, high = 0, 10 # the ratio that the whole budget allows
    for _ in range(60):
        mu = (low + high) / 2
        low, high = (mu, high) if eps_of(mu, delta) < budget else (low, mu)
    wanted = [eps_of(mu * math.sqrt(k / 4), delta) for k in (1, 2, 3, 4, 4, 4)]
    assert len(spent) == 6, line
    assert all(abs(a - b) < .02 for a, b in zip(spent, wanted)), (page, spent, wanted)
END
printf 'from,to,alpha,sigma\n0,0,1,0.1\n' >bare.csv
"$pricer" plan server.pricer --weights bare.csv >/dev/null 2>&1
"$pricer" report server.pricer -o server.html >/dev/null
grep -q '1 nodes show the server more than their budget allows' server.html ||
    fail "an open server budget is not said"
grep -q '⚠' server.html || fail "an open server budget has no warning"
grep -q 'budget towards the server' places.html && fail "budgets where there are none"

# 'scheme: forward': four nodes whose error by hops other programs found, and a fifth that
# nobody hears, which leaves out (1/5)^2 of the squared radius.
printf 'node,p,name\n0,.9,gate<1>\n1,.2,\n2,0,\n3,.1,\n' | tr -d '<>' >nodes.csv
printf 'from,to,p\n1,0,.8\n2,1,.7\n3,2,.6\n2,0,.3\n3,1,.2\n' >links.csv
printf '%s\n' 'dimension: 2' 'hops: 2' 'trust: {everyone: {eps: 4}}' \
    'network: {files: {nodes: nodes.csv, links: links.csv}}' >four.yaml
"$pricer" new four.pricer four.yaml >/dev/null
"$pricer" report four.pricer -o four.html >/dev/null
check four.html network recipe
"$pricer" plan four.pricer --name first >/dev/null
"$pricer" report four.pricer -o four.html >/dev/null
forward="network arrivals error agreement privacy hops curve price certificate nodes recipe"
# shellcheck disable=SC2086
check four.html $forward
cp nodes.csv five.csv && echo '4,0,attic' >>five.csv
sed 's/nodes.csv/five.csv/' four.yaml >five.yaml
"$pricer" new five.pricer five.yaml >/dev/null
"$pricer" plan five.pricer >/dev/null
sqlite3 five.pricer "INSERT INTO simulation VALUES (1, 1, 'fast', 'worst-case', 1, 500, 0, 'constant');
    INSERT INTO simulation_strategy VALUES (1, 'plan', .3, .01, NULL, .35, .1, NULL, 0, 0, NULL);
    INSERT INTO simulation_bin VALUES (1, 'plan', .1, .2, 300), (1, 'plan', .2, .4, 200);
    INSERT INTO round (round, plan, attempts, arrived, contributors, weight, error, decoder, bar)
    VALUES (1, 1, 1, 3, 3, 0.6, 0.2, 'constant', 0.5), (2, 1, 1, 4, 4, 0.8, 0.1, 'constant', 0.4);
    INSERT INTO round_arrival (round, node, hops, attempt) VALUES (1, 0, 0, 0), (1, 1, 1, 0),
    (1, 2, 1, 0), (2, 0, 0, 0), (2, 1, 0, 0), (2, 2, 2, 0), (2, 3, 0, 0)"
"$pricer" report five.pricer -o five.html >/dev/null
# shellcheck disable=SC2086
check five.html $forward
grep -q 'NEVER HEARD: 1 of 5 nodes .*: attic (4)' five.html || fail "the node that nobody hears"
grep -q 'simulated, 500 trials' five.html || fail "the simulation of forwarding is missing"
grep -q '2 rounds were run by real nodes; on average 3.5 releases reached' five.html ||
    fail "rounds of forwarding are missing"
python3 - four.html five.html five.pricer <<'END' || fail "forward"
import re, sqlite3, sys
four, five = (open(page, encoding='utf-8').read() for page in sys.argv[1:3])
def cells(text, section, column=1):
    part = text.split('<section id="%s">' % section)[1].split('</section>')[0]
    rows = re.findall(r'<tr[^>]*>(.*?)</tr>', part)
    rows = [re.findall(r'<td[^>]*>(.*?)</td>', row) for row in rows]
    return {row[0]: row[column] for row in rows if row}
error = {name: float(value) for name, value in cells(four, 'error').items()}
assert error['together, at worst'] == .2624 and error['always zero'] == 1, error
assert error['links that never fail'] == .1077 and error['nodes that can never be heard'] == 0
error = {name: float(value) for name, value in cells(five, 'error').items()}
parts = [error[name] for name in ('nodes that can never be heard', 'releases missing or scaled down',
                                  'noise for privacy')]
assert parts[0] == .04 and min(parts) > 0, parts
assert abs(sum(parts) - error['together, at worst']) < 2e-4, error
curve = four.split('aria-label="The error by hops"')[1].split('</svg>')[0]
path = re.search(r'stroke-width="2"[^>]*d="([^"]*)"', curve).group(1)
assert len(re.findall('L', path)) == 5, path
stored = sqlite3.connect(sys.argv[3]).execute('SELECT arrival, coefficient FROM forward_plan_node')
arrives, counts = cells(five, 'nodes', 2), cells(five, 'nodes', 3)
came = {name: cell.split('<small>')[1].split('<')[0] for name, cell in arrives.items()}
assert came == {'gate1 (0)': '1', '1': '1', '2': '1', '3': '0.5', 'attic (4)': '0'}, came
for (arrival, coefficient), name in zip(stored, ('gate1 (0)', '1', '2', '3', 'attic (4)')):
    assert abs(float(arrives[name].split('<')[0]) - arrival) < 1e-4, (name, arrives)
    assert abs(float(counts[name]) - coefficient) < 1e-3, (name, counts)
# The most likely paths: 1 over 0, 2 over 1 and 0 (.504; .27 over 0 alone), 3 over 2 and 0
# (.162; .144 over 1 and 0, .1 by its uplink; over 2, 1 and 0 it would be three relays).
assert cells(five, 'nodes', 1) == {'gate1 (0)': '0', '1': '1', '2': '2', '3': '2',
                                   'attic (4)': 'never'}, cells(five, 'nodes', 1)
END
printf '%s\n' 'dimension: 2' 'seed: 1' 'trust: {everyone: {eps: 4}}' 'network: {generator: geometric,' \
    '  nodes: 300, density: 60, cutoff: 0.1, uplink: 0.05, good: {fraction: 0.15, uplink: 0.9}}' >field.yaml
"$pricer" new field.pricer field.yaml >/dev/null
"$pricer" plan field.pricer >/dev/null
"$pricer" report field.pricer -o field.html >/dev/null
# shellcheck disable=SC2086
check field.html $forward
python3 - field.html <<'END' || fail "cells of forwarding"
import re, sys
text = open(sys.argv[1], encoding='utf-8').read()
counts = [int(n) for n in re.findall(r'class="count"[^>]*>(\d+)<', text)]
assert sum(counts) == 300, counts
END

# Mistakes.
status=0
"$pricer" report places.pricer --plan 9 -o no.html 2>messages >out || status=$?
[ $status -eq 1 ] && [ ! -e no.html ] || fail "a plan that is not there"
status=0
"$pricer" report places.pricer -o /nonexistent/no.html 2>messages || status=$?
[ $status -eq 1 ] || fail "a folder that is not there"

exit $bad
