#!/usr/bin/env bash
# pricer privacy for the observers of a real fleet: readers of the estimate,
# alone and with relays, listeners, relays that see shares; each number with what it assumes. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds CONDITION: of o, the JSON object in out.json, and of eps, its numbers.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1"
import json, sys
o = json.load(open("out.json"))["statements"]
eps = [float(s["epsilon"]) for s in o]
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}
privacy() { "$pricer" privacy a.pricer "$@" --json >out.json || fail "privacy $*"; }
# worst OPTION...: the largest eps; asked once of each plan.
worst() {
    local kept="worst $*"
    [ -f "$kept" ] || "$pricer" privacy a.pricer "$@" --json |
        python3 -c 'import json, sys
print(max(float(s["epsilon"]) for s in json.load(sys.stdin)["statements"]))' >"$kept"
    cat "$kept"
}
# rises A B...: numbers that do not fall, but for the account's 1 %.
rises() { python3 -c 'import sys
n = [float(a) for a in sys.argv[1:]]
sys.exit(any(a * .99 > b for a, b in zip(n, n[1:])))' "$@" || fail "they fall: $*"; }

# Two nodes whose own parts have no noise: node 1 gets nothing from node 0, so
# its rows say 0; but its own share is all the noise there is in the sum of node
# 0, and with the estimate it has x_0.
cat >fleet.yaml <<'YAML'
dimension: 128
radius: 1
network: {files: {nodes: nodes.csv, links: links.csv}, reciprocity: 1}
trust: {eps: 1, delta: 1e-6}
YAML
printf 'node,p\n0,0.9\n1,0.2\n' >nodes.csv
printf 'from,to,p\n0,1,0.8\n1,0,0.8\n' >links.csv
"$pricer" new a.pricer fleet.yaml >/dev/null
"$pricer" plan a.pricer --decoder constant >/dev/null
for observer in link relay; do
    privacy --observer $observer
    holds "[s['epsilon'] for s in o if s['node'] == 0] == [0]"
done
privacy --coalition 1,reader
holds "len(o) == 1 and o[0]['node'] == 0 and eps[0] == float('inf') and o[0]['floor'] == 1"
holds "'sum of what arrived' in o[0]['assumes']"
privacy --observer reader
holds "len(o) == 2 and max(eps) == float('inf')"

# Twelve nodes whose own parts have noise, over five rounds.
cat >s.yaml <<'YAML'
dimension: 3
rounds: 5
network: {generator: erdos-renyi, nodes: 12, p: 0.8, uplink: 0.7}
trust: {eps: 1, delta: 1e-4, self: {eps: 2, delta: 1e-4}}
YAML
"$pricer" new --force a.pricer s.yaml >/dev/null
"$pricer" plan a.pricer --decoder constant >/dev/null
rises "$(worst --observer reader)" "$(worst --observer server)" \
    "$(worst --observer listener)"
rises "$(worst --observer relay)" "$(worst --observer relay --relays shares)"
rises "$(worst --observer link)" "$(worst --observer relay --relays shares)" \
    "$(worst --observer link)"
rises "$(worst --coalition 1,2)" "$(worst --coalition 1,2,reader)" \
    "$(worst --coalition 1,2,server)" "$(worst --coalition 1,2,server,reader)" \
    "$(worst --coalition 1,2,server --relays shares)"
# A listener hears losses whatever is asked.
privacy --observer listener --eavesdropper receiver
holds "all(s['eavesdropper'] == 'radio' and s['observer'] == 'listener' and s['at'] is None for s in o)"

# Every number with what it assumes, in words and in keys.
privacy --observer relay --relays shares
holds "all(s['relays'] == 'shares' and 'silent' not in s and 'every share' in s['assumes'] and s['kind'] == 'exact' for s in o)"
privacy
holds "all(s['relays'] == 'sums' and s['assumes'] for s in o)"
"$pricer" privacy a.pricer >all.txt 2>&1 || fail "privacy exited $?: $(cat all.txt)"
[ "$(tr -s ' \n' ' ' <all.txt | grep -o 'links of different pairs fail independently' | wc -l)" = 2 ] ||
    fail "not every account with others' noise says that links fail independently"
for words in 'nothing but the sender' 'never a single share (relays sums)' \
    'relays send the server sums' 'late shares count as seen'; do
    expect 0 "$words" cat all.txt
done
expect 0 'Readers see the estimate' "$pricer" privacy a.pricer --observer reader
expect 0 'hears all that it sends' "$pricer" privacy a.pricer --observer listener

# What was assumed is stored with the answer.
[ "$(sqlite3 a.pricer "SELECT DISTINCT observer, coalition FROM privacy WHERE
    coalition LIKE '%=%' ORDER BY 1, 2" | tr '\n' ';')" = \
    'coalition|1,2,server relays=shares;relay|relays=shares;' ] ||
    fail "stored: $(sqlite3 a.pricer 'SELECT DISTINCT observer, coalition FROM privacy')"

# A plan with a decoder: the reader has a function of all that the server sees.
rm worst*
"$pricer" plan a.pricer --decoder minimax >/dev/null
privacy --observer reader
holds "all('has a decoder' in s['assumes'] for s in o)"
[ "$(worst --observer reader)" = "$(worst --observer server)" ] ||
    fail "with a decoder the reader is not the server"

# No budget counts on losses: neither a scenario nor an older study may.
printf 'credit: losses\n' | cat s.yaml - >credit.yaml
expect 1 "credit.yaml:$(wc -l <credit.yaml): there is no key credit" "$pricer" new c.pricer credit.yaml
expect 1 "pricer privacy --eavesdropper receiver" "$pricer" new c.pricer credit.yaml
expect 1 "pricer privacy --eavesdropper receiver" "$pricer" new c.pricer s.yaml --set credit=losses
"$pricer" new --force b.pricer s.yaml >/dev/null
sqlite3 b.pricer "INSERT INTO setting VALUES ('credit', 'none')"
expect 0 "every packet counted as heard." "$pricer" plan b.pricer
sqlite3 b.pricer "UPDATE plan SET credit = 'losses'"
expect 1 "give credit 'losses' for lost packets" "$pricer" privacy b.pricer
sqlite3 b.pricer "UPDATE setting SET value = 'losses' WHERE key = 'credit'"
expect 1 "give credit 'losses' for lost packets" "$pricer" plan b.pricer

expect 2 'about data' "$pricer" privacy a.pricer --protect identity --relays shares
expect 2 'identity is for' "$pricer" privacy a.pricer --protect identity --observer reader
expect 2 'paper has bounds for' "$pricer" privacy a.pricer --mode paper --observer listener
expect 2 'paper has bounds for' "$pricer" privacy a.pricer --mode paper --relays shares
# There is no bound for nodes that leave out their noise.
expect 2 'there is no option --silent' "$pricer" privacy a.pricer --silent 1
expect 1 'with a reader' "$pricer" audit a.pricer --coalition 1,reader
expect 1 "'reader'" "$pricer" privacy a.pricer --coalition 1,readers
exit $bad
