#!/usr/bin/env bash
# pricer audit as a user runs it: verdicts and exit status, options, the same
# result for any threads, and what it refuses. $1: the build folder. That it
# notices wrong code is for tests/audit/mutants.py.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds CONDITION: of o, the JSON object in out.json, and a, its audits.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1"
import json, sys
o = json.load(open("out.json"))
a = o["audits"]
claims = lambda row: {c["claim"]: float(c["epsilon"]) for c in row["claims"]}
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}
audit() { # status, options...: into out.json
    local status=$1 got
    shift
    "$pricer" audit a.pricer "$@" --json >out.json
    got=$?
    [ "$got" -eq "$status" ] || fail "audit $* exited $got"
}

"$pricer" new a.pricer "$here"/examples/paper.yaml >/dev/null
expect 1 "no plan yet" "$pricer" audit a.pricer
"$pricer" plan a.pricer --decoder constant >/dev/null

# By default each kind of observer, at its worst.
expect 0 "No claim is contradicted" "$pricer" audit a.pricer --trials 5000
audit 0 --trials 5000
holds "[r['observer'] for r in a] == ['link', 'relay', 'server']"
holds "not o['contradicted'] and o['confidence'] == 0.95 and o['alarm'] == 1e-6"
holds "sorted(claims(a[0])) == ['account', 'budget'] and claims(a[0])['budget'] == 1000"
holds "all(0.8 * claims(r)['account'] < r['epsilon_fitted'] for r in a)"
holds "all(r['sure_fitted'] < r['epsilon_fitted'] <= claims(r)['account'] * 1.1 for r in a)"
holds "all(3 < r['epsilon_counted'] < 8 and r['judged'] == 2500 for r in a)"
cp out.json all.json
audit 0 --trials 5000 --threads 1
cmp -s out.json all.json || fail "the threads change the result"
audit 0 --trials 5000 --seed 9
cmp -s out.json all.json && fail "the seed does not change the result"
"$pricer" privacy a.pricer --observer server --json >privacy.json
python3 - <<'PYTHON' || fail "the claim is not that of pricer privacy"
import json, sys
row = json.load(open("all.json"))["audits"][2]
claim = row["claims"][0]["epsilon"]
worst = max(s["epsilon"] for s in json.load(open("privacy.json"))["statements"])
sys.exit(0 if abs(claim - worst) < 0.01 * worst else 1)
PYTHON
before=$(sha256sum a.pricer)

# Options.
audit 0 --observer link --node 3 --at 5 --trials 2000
holds "len(a) == 1 and a[0]['node'] == 3 and a[0]['at'] == 5 and a[0]['trials'] == 2000"
holds "claims(a[0])['budget'] == 1"
audit 0 --observer relay --at 4 --trials 2000
holds "len(a) == 1 and a[0]['at'] == 4"
audit 0 --node 2 --trials 2000
holds "len(a) == 3 and all(r['node'] == 2 for r in a) and a[2]['at'] is None"
audit 0 --claim budget --all --trials 1000
holds "len(a) == 90 and all(list(claims(r)) == ['budget'] for r in a)"
audit 0 --coalition 2,server --node 1 --trials 2000
holds "a[0]['observer'] == 'coalition' and a[0]['epsilon_fitted'] > 0"
audit 0 --observer link --node 3 --at 5 --rounds 3 --eavesdropper radio --trials 1000
holds "o['rounds'] == 3 and o['eavesdropper'] == 'radio' and list(claims(a[0])) == ['account']"
audit 0 --observer link --node 3 --at 5 --delta 1e-5 --trials 1000
holds "a[0]['delta'] == 1e-5 and list(claims(a[0])) == ['account']"
audit 0 --observer link --node 3 --at 5 --confidence 0.5 --trials 5000
holds "o['confidence'] == 0.5"
# A claim of one's own: far too small, and large enough.
audit 3 --observer link --node 3 --at 4 --eps 100 --trials 5000
holds "o['contradicted'] and a[0]['claims'][0]['contradicted'] and claims(a[0]) == {'given': 100}"
audit 0 --observer link --node 3 --at 4 --eps 1000 --trials 5000
expect 3 "CONTRADICTED" "$pricer" audit a.pricer --observer link --node 3 --at 4 --eps 2 --trials 2000
# Where a node may be alone at the relay nothing is claimed.
expect 0 "nothing claimed" "$pricer" audit a.pricer --protect identity --trials 1000
[ "$(sha256sum a.pricer)" = "$before" ] || fail "an audit changed the study"

# A budget over rounds is a claim about whoever hears the packets.
"$pricer" new t.pricer "$here"/examples/paper.yaml --set rounds=5 >/dev/null
"$pricer" plan t.pricer --decoder constant >/dev/null
for who in receiver radio; do
    "$pricer" audit t.pricer --observer link --trials 1000 --eavesdropper $who --json >out.json ||
        fail "audit $who"
    holds "list(claims(a[0])) == ['budget', 'account'] and o['rounds'] == 5"
done
"$pricer" audit t.pricer --observer link --trials 1000 --json >out.json
holds "o['eavesdropper'] == 'radio' and 'credit' not in o"

# What it refuses, by the name of the option.
expect 1 "--node 10: the nodes are 0 to 9" "$pricer" audit a.pricer --node 10
expect 1 "--at 10: the nodes are 0 to 9" "$pricer" audit a.pricer --at 10
expect 1 "--node 3 --at 3: there is no such link" "$pricer" audit a.pricer --node 3 --at 3
expect 2 "--delta is a number above 0" "$pricer" audit a.pricer --delta 0.0001e9
expect 2 "'-1' for --delta (expected a number above 0)" "$pricer" audit a.pricer --delta -1
expect 2 "'0' for --delta" "$pricer" audit a.pricer --delta 0
expect 2 "'0' for --rounds" "$pricer" audit a.pricer --rounds 0
expect 2 "'0' for --trials" "$pricer" audit a.pricer --trials 0
expect 2 "'0' for --eps" "$pricer" audit a.pricer --eps 0
expect 2 "--confidence" "$pricer" audit a.pricer --confidence 1
expect 2 "--eps" "$pricer" audit a.pricer --eps -1
expect 2 "--trials" "$pricer" audit a.pricer --trials 999
expect 2 "--at is for links and relays" "$pricer" audit a.pricer --observer server --at 1
expect 2 "identity is for" "$pricer" audit a.pricer --protect identity --observer link
expect 2 "without --observer" "$pricer" audit a.pricer --coalition 1 --observer link
expect 2 "for --observer link" "$pricer" audit a.pricer --claim budget --observer relay
expect 2 "without --claim" "$pricer" audit a.pricer --claim paper --eps 1
expect 2 "no bound for coalitions" "$pricer" audit a.pricer --claim paper --coalition 1
expect 2 "'many' for --trials" "$pricer" audit a.pricer --trials many
expect 1 "in the coalition itself" "$pricer" audit a.pricer --coalition 1,2 --node 1
expect 1 "is not a list" "$pricer" audit a.pricer --coalition 1,12
expect 1 "--claim paper is about one round" "$pricer" audit a.pricer --claim paper --rounds 2
expect 1 "--claim budget" "$pricer" audit a.pricer --claim budget --delta 1e-9
expect 1 "is not between 1 and" "$pricer" audit a.pricer --rounds 99999999999
expect 1 "there is no plan 7" "$pricer" audit a.pricer --plan 7
expect 1 "none: No such file" "$pricer" audit none

# Two nodes and one link: nothing leaves node 1.
printf 'node,p\n0,1\n1,1\n' >n.csv
printf 'from,to,p\n0,1,1\n' >l.csv
printf 'dimension: 2\nnetwork: {files: {nodes: n.csv, links: l.csv}}\ntrust: {eps: 1, delta: 1e-3}\n' >s.yaml
"$pricer" new two.pricer s.yaml >/dev/null
# Bare data and weights without noise: no NaN, and the budget is contradicted.
printf 'from,to,alpha,sigma\n0,1,1,0\n1,1,1,0\n' >w.csv
"$pricer" plan two.pricer --weights w.csv >/dev/null 2>&1
expect 1 "--node 1: no link leaves that node" "$pricer" audit two.pricer --node 1
expect 1 "--at 0: no link ends at that node" "$pricer" audit two.pricer --at 0
"$pricer" audit two.pricer --json --trials 2000 >out.json
[ $? -eq 3 ] || fail "bare data was not found"
holds "claims(a[0])['budget'] == 1 and claims(a[0])['account'] == float('inf')"
holds "all(r['epsilon_fitted'] is None and r['epsilon_counted'] > 4 for r in a)"
exit $bad
