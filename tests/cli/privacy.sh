#!/usr/bin/env bash
# pricer privacy as a user runs it: published values, brackets, the study's
# table, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds CONDITION: of o, the JSON object in out.json.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1"
import json, sys
o = json.load(open("out.json"))["statements"]
near = lambda a, b, r=1e-6: abs(a - b) <= r * abs(b)
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}

# Nine nodes and a relay: fixed weights and noise, links up with probability P.
study() { # P alpha sigma dimension
    (echo node,p; for i in 0 1 2 3 4 5 6 7 8 9; do echo "$i,1"; done) >n.csv
    (echo from,to,p; for i in 1 2 3 4 5 6 7 8 9; do echo "$i,0,$1"; done) >l.csv
    (echo from,to,alpha,sigma
        for i in 1 2 3 4 5 6 7 8 9; do echo "$i,0,$2,$3"; done) >w.csv
    cat >s.yaml <<EOF
dimension: $4
network: {files: {nodes: n.csv, links: l.csv}}
trust: {eps: 1, delta: 1e-3}
EOF
    "$pricer" new --force nine.pricer s.yaml >/dev/null
    "$pricer" plan nine.pricer --weights w.csv >/dev/null 2>&1
}

expect 1 "no plan yet" bash -c "'$pricer' new a.pricer '$here'/examples/paper.yaml >/dev/null && '$pricer' privacy a.pricer"

# A relay that sees the sum of nine: values known to nine digits, of a receiver
# who hears what arrives.
study 0.9 1 7.55295906531809 4
"$pricer" privacy nine.pricer --observer relay --delta 1.8e-3 --eavesdropper receiver --json >out.json
holds "len(o) == 9 and all(near(s['epsilon'], 0.155471705) for s in o)"
"$pricer" privacy nine.pricer --observer relay --delta 1e-5 --eavesdropper receiver --json >out.json
holds "all(near(s['epsilon'], 0.3195756778) for s in o)"
holds "all(0 <= s['epsilon'] - s['epsilon_lower'] <= .01 * s['epsilon'] for s in o)"

# Whether a node took part: the dimension counts. The worse direction is with
# the node against without; known independently of this program.
for row in 1,0.3960978 16,1.1664725 128,3.4160714 576,8.3589254; do
    study 1 0.1 1 "${row%,*}"
    "$pricer" privacy nine.pricer --observer relay --protect identity --delta 1e-3 --json >out.json
    holds "all(near(s['epsilon'], ${row#*,}, 1e-2) and s['epsilon'] >= ${row#*,} * (1 - 1e-6) for s in o)"
done

# One link over rounds: mu = 0.3, p = 0.1, T = 100, delta = 1e-6.
study 0.1 0.15 1 4
"$pricer" privacy nine.pricer --observer link --rounds 100 --delta 1e-6 --eavesdropper receiver --json >out.json
holds "all(near(s['epsilon'], 5.50969692428, 1e-8) and s['eavesdropper'] == 'receiver' for s in o)"
"$pricer" privacy nine.pricer --observer link --rounds 100 --delta 1e-6 --eavesdropper radio --json >out.json
holds "all(s['epsilon'] > 10 and s['eavesdropper'] == 'radio' for s in o)"
cp out.json radio.json
"$pricer" privacy nine.pricer --observer link --rounds 100 --delta 1e-6 --json >out.json
cmp -s out.json radio.json || fail "by default losses are not heard"

# Data that arrives bare: no eps, and the probability of it is the floor.
study 0.9 1 0 4
"$pricer" privacy nine.pricer --observer link --delta 1e-3 --eavesdropper receiver --json >out.json
holds "all(s['epsilon'] == 'inf' and near(s['floor'], 0.9) for s in o)"

# The paper's network: every observer, stored, the same for any threads.
"$pricer" plan a.pricer >/dev/null
"$pricer" privacy a.pricer --json >out.json
holds "len(o) == 90 + 90 + 10"
holds "all(s['epsilon_lower'] <= s['epsilon'] <= 1.01 * s['epsilon_lower'] for s in o)"
holds "all(s['epsilon'] <= 1000 for s in o if s['observer'] == 'link')"
"$pricer" privacy a.pricer --threads 1 --json >one.json
cmp -s one.json out.json || fail "the threads change the answer"
[ "$(sqlite3 a.pricer 'SELECT count(*) FROM privacy_statement')" -eq 380 ] ||
    fail "not every answer of the two calls was stored"
expect 0 "--all shows the rest" "$pricer" privacy a.pricer
expect 0 "server" "$pricer" privacy a.pricer --all
expect 2 "--delta" "$pricer" privacy a.pricer --delta 2
expect 2 "'0' for --delta (expected a number above 0)" "$pricer" privacy a.pricer --delta 0
expect 2 "'0' for --rounds (expected a whole number above 0)" "$pricer" privacy a.pricer --rounds 0
expect 1 "there is no plan 0" "$pricer" privacy a.pricer --plan 0
expect 1 "none: No such file" "$pricer" privacy none

# Options: each names itself, and makes it no better for the node.
privacy() { "$pricer" privacy a.pricer "$@" --json >out.json || fail "privacy $*"; }
eps='(lambda s: float(s["epsilon"]))'
low='(lambda s: float(s["epsilon_lower"]))'
privacy --observer server --delta 1e-5
holds "all(s['delta'] == 1e-5 and s['at'] is None for s in o)"
privacy --observer link --rounds 10 --eavesdropper radio
holds "all(s['rounds'] == 10 and s['eavesdropper'] == 'radio' and s['kind'] == 'exact' for s in o)"
privacy --coalition 2,5,server
holds "len(o) == 8 and all(s['observer'] == 'coalition' for s in o)"
# Alone with probability 2^-9 or more, a node is given away by its own noise;
# one that sends nothing is not.
privacy --observer relay --protect identity --eavesdropper receiver
holds "len(o) == 90 and all(s['protect'] == 'identity' for s in o)"
holds "all(s['epsilon'] == 0 or (s['epsilon'] == 'inf' and s['floor'] > 2**-9 - 1e-12) for s in o)"
privacy --observer server --protect identity --eavesdropper receiver
holds "len(o) == 10 and all(s['protect'] == 'identity' and s['epsilon'] == 'inf' for s in o)"

# The paper's bounds: marked, with a reason; the corrected ones hold.
privacy --mode paper --observer relay
holds "all(s['guarantee'] is False and s['note'] == 'as printed, not a guarantee' and s['reason'] for s in o)"
holds "all(float(s['corrected']) >= $low(s) and $eps(s) >= 0 for s in o)"
expect 0 'As printed, not a guarantee' "$pricer" privacy a.pricer --mode paper
[ "$("$pricer" privacy a.pricer --observer link --all | wc -l)" -gt 90 ] ||
    fail "--all shows less than all"

# What else it refuses; the study stays as it was.
before=$(sqlite3 a.pricer 'SELECT count(*) FROM privacy')
expect 2 'identity is for' "$pricer" privacy a.pricer --protect identity --observer link
expect 2 'without --observer' "$pricer" privacy a.pricer --coalition 1 --observer link
expect 1 'is not a list' "$pricer" privacy a.pricer --coalition 1,12
expect 1 'is not a list' "$pricer" privacy a.pricer --coalition 1,,2
expect 1 'is not between 1 and' "$pricer" privacy a.pricer --rounds 99999999999
[ "$(sqlite3 a.pricer 'SELECT count(*) FROM privacy')" = "$before" ] ||
    fail "a refused question was stored"
exit $bad
