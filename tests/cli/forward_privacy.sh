#!/usr/bin/env bash
# pricer plan, privacy and audit with 'scheme: forward': plans are checked, one number
# a node that is the same for everyone and stored, eps at other deltas and rounds, what
# is said about identities, attacks, and options that belong to sums. $1: the build
# folder. That wrong code is noticed is for tests/audit/mutants.py.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds CONDITION: of o, the JSON object in out.json, and s, its statements or audits.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1: $(head -c 2000 out.json)"
import json, sys
o = json.load(open("out.json"))
s = o.get("statements", o.get("audits"))
near = lambda a, b, r=1e-6: abs(a - b) <= r * abs(b)
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}
study() { # scenario lines
    (echo "network: {files: {nodes: nodes.csv, links: links.csv}}"; cat) >s.yaml
    "$pricer" new --force s.pricer s.yaml >/dev/null && "$pricer" plan s.pricer >plan.txt ||
        fail "no plan"
}

printf 'node,p\n0,.9\n1,.2\n2,0\n3,.1\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n2,1,.7\n3,2,.6\n2,0,.3\n3,1,.2\n' >links.csv

# One round: delta is not needed, so a little less than eps holds with it.
study <<'YAML'
dimension: 2
trust: {everyone: {eps: 4, delta: 1e-5}}
YAML
grep -q 'Checked: by other code, all 4 nodes keep' plan.txt || fail "the check: $(cat plan.txt)"
"$pricer" privacy s.pricer --json >out.json
holds 'len(s) == 4 and all(x["observer"] == "everyone" and x["at"] is None for x in s)'
holds 'all(x["node"] == i and x["kind"] == "exact" and x["floor"] == 0 for i, x in enumerate(s))'
# delta = p (1 - exp(eps - e0)), p = .8807971, e0 = 4 but for the charge.
holds 'near(s[0]["epsilon"], 4 + __import__("math").log(1 - 1e-5 / .8807971), 1e-8)'
holds '0 < s[0]["epsilon"] - s[0]["epsilon_lower"] < 1e-8'
"$pricer" privacy s.pricer --rounds 3 --delta 1e-12 --observer server --json >out.json
holds 'near(s[0]["epsilon"], 12, 1e-8) and s[0]["rounds"] == 3 and s[0]["delta"] == 1e-12'
[ "$(sqlite3 s.pricer "SELECT group_concat(observer || ' ' || rounds || ' ' || n, ', ') FROM
    (SELECT observer, rounds, count(*) n FROM privacy JOIN privacy_statement USING (privacy)
    GROUP BY privacy)")" = "everyone 1 4, everyone 3 4" ] || fail "what is stored"
"$pricer" privacy s.pricer >out.txt || fail "privacy"
grep -q 'Everyone sees the same releases' out.txt || fail "who sees: $(cat out.txt)"
grep -q 'over which path is not hidden' out.txt || fail "what is not hidden"

# Identities: a sentence, and no number in JSON.
expect 0 "" "$pricer" privacy s.pricer --protect identity
"$pricer" privacy s.pricer --protect identity | grep -q 'Identities are not protected' ||
    fail "identities"
"$pricer" privacy s.pricer --protect identity --json >out.json
holds 'all(x["epsilon"] == "inf" and x["protect"] == "identity" for x in s)'

# What only sums have.
expect 2 "the paper has no bounds" "$pricer" privacy s.pricer --mode paper
expect 2 "the paper has no bounds" "$pricer" privacy s.pricer --mode printed
expect 2 "every packet counts as heard" "$pricer" privacy s.pricer --eavesdropper receiver
expect 2 "relays see every packet" "$pricer" privacy s.pricer --relays shares
expect 1 "there is no plan 7" "$pricer" privacy s.pricer --plan 7
expect 1 "rounds = 100000000 is not between" "$pricer" privacy s.pricer --rounds 100000000
expect 2 "identities are not protected" "$pricer" audit s.pricer --protect identity
expect 2 "the paper has no bounds" "$pricer" audit s.pricer --claim paper
expect 2 "everyone sees the same releases" "$pricer" audit s.pricer --at 1
expect 1 "the nodes are 0 to 3" "$pricer" audit s.pricer --node 4

# Attacks: what is true is not contradicted, what is too small is.
"$pricer" audit s.pricer --seed 1 --json >out.json || fail "a true claim is contradicted"
holds 'len(s) == 1 and s[0]["observer"] == "everyone" and not o["contradicted"]'
holds 's[0]["law"] == "" and 3.7 < s[0]["epsilon_counted"] < 4 and len(s[0]["claims"]) == 2'
expect 3 "" "$pricer" audit s.pricer --seed 1 --eps 3.5
"$pricer" audit s.pricer --trials 5000 >out.txt || fail "an audit with the kernel's bits"
grep -q 'No claim is contradicted' out.txt || fail "the verdict: $(cat out.txt)"

# Several rounds, budgets and radii of nodes, both kinds; each different release once.
printf 'node,p,radius,everyone_eps,everyone_delta\n0,.9,1,8,1e-5\n1,.2,.5,8,1e-5\n2,0,1,2,1e-5\n3,.1,1,8,1e-5\n' >nodes.csv
for release in sphere gaussian; do
    study <<YAML
dimension: 2
rounds: 5
release: $release
YAML
    "$pricer" privacy s.pricer --json >out.json
    holds '[round(x["epsilon"], 4) for x in s] == [8, 8, 2, 8] and s[0]["rounds"] == 5'
    "$pricer" audit s.pricer --all --seed 1 --trials 3000 --json >out.json || fail "$release"
    holds '[x["node"] for x in s] == [0, 1, 2]'
done
holds 'all(.7 * x["claims"][0]["epsilon"] < x["epsilon_fitted"] for x in s)'

exit $bad
