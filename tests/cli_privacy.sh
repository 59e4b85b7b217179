#!/usr/bin/env bash
# pricer privacy as a user runs it: the contract of its JSON, what it stores, that
# threads do not matter, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}

# expect STATUS WORDS COMMAND...: the exit status, and words in what is printed.
expect() {
    local status=$1 words=$2 output got
    shift 2
    output=$("$@" 2>&1)
    got=$?
    [ "$got" -eq "$status" ] || fail "$* exited $got, expected $status: $output"
    grep -qF -- "$words" <<<"$output" || fail "$* did not say '$words': $output"
}

# holds EXPRESSION: a Python expression about the statements s in out.json.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1"
import json, math, sys
o = json.load(open("out.json"))
s = o["statements"]
number = lambda x: math.inf if x == "inf" else x
eps = lambda r: number(r["epsilon"])
low = lambda r: number(r["epsilon_lower"])
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}

# privacy ARGUMENT...: into out.json, and nothing on stderr.
privacy() {
    "$pricer" privacy "$@" --json >out.json 2>err.txt ||
        fail "privacy $* exited $?: $(cat err.txt)"
    [ ! -s err.txt ] || fail "privacy $* said: $(cat err.txt)"
}

"$pricer" new ten.pricer "$here/examples/paper.yaml" >/dev/null || exit 1
expect 1 'plan' "$pricer" privacy ten.pricer
"$pricer" plan ten.pricer >/dev/null || exit 1

# Everything: 90 links, 90 relays, 10 nodes at the server, the contract's keys,
# brackets within 1 %.
privacy ten.pricer
holds 'len(s) == 190'
holds 'all({"observer", "node", "at", "protect", "delta", "epsilon", "epsilon_lower", "floor"} <= set(r) for r in s)'
holds 'all(low(r) <= eps(r) and low(r) >= .99 * eps(r) for r in s)'
holds '{r["observer"] for r in s} == {"link", "relay", "server"}'
holds 'all((r["at"] is None) == (r["observer"] == "server") for r in s)'
holds 'all(r["kind"] == "exact" for r in s if r["observer"] == "link")'
# No link spends more than it was trusted with.
holds 'all(eps(r) <= (1000 if (r["node"] - r["at"]) % 10 in (1, 9) else 1) for r in s if r["observer"] == "link")'

cp out.json before.json
privacy ten.pricer --threads 1
cmp -s out.json before.json || fail "threads change the statements"

# What it stores.
rows() { sqlite3 ten.pricer "$1"; }
[ "$(rows 'SELECT count(*) FROM privacy')" = 6 ] || fail "questions stored"
[ "$(rows 'SELECT count(*) FROM privacy_statement')" = 380 ] ||
    fail "statements stored"
[ "$(rows "SELECT count(*) FROM privacy_statement WHERE at IS NULL")" = 20 ] ||
    fail "statements at the server"

# Options: each makes it no better for the node, or names itself.
privacy ten.pricer --observer server --delta 1e-5
holds 'all(r["delta"] == 1e-5 and r["observer"] == "server" for r in s)'
privacy ten.pricer --observer link --rounds 10 --eavesdropper radio
holds 'all(r["rounds"] == 10 and r["eavesdropper"] == "radio" for r in s)'
privacy ten.pricer --coalition 2,5,server
holds 'len(s) == 8 and all(r["observer"] == "coalition" for r in s)'
privacy ten.pricer --observer relay --protect identity
holds 'len(s) == 90 and all(r["protect"] == "identity" for r in s)'
# Alone with probability 2^-9, a node is given away by its own noise.
holds 'all(eps(r) == math.inf and abs(r["floor"] - 2**-9) < 1e-12 for r in s)'

# The paper's bounds: marked, with a reason; the corrected ones hold.
privacy ten.pricer --mode paper --observer relay
holds 'all(r["guarantee"] is False and r["note"] == "as printed, not a guarantee" and r["reason"] for r in s)'
holds 'all(number(r["corrected"]) >= low(r) for r in s)'
expect 0 'As printed, not a guarantee' "$pricer" privacy ten.pricer --mode paper
expect 0 'worst of 90; --all' "$pricer" privacy ten.pricer --observer link
[ "$("$pricer" privacy ten.pricer --observer link --all | wc -l)" -gt 90 ] ||
    fail "--all shows less than all"

# What it refuses; the study stays as it was.
before=$(rows 'SELECT count(*) FROM privacy')
expect 2 'delta' "$pricer" privacy ten.pricer --delta 2
expect 2 'identity is for' "$pricer" privacy ten.pricer --protect identity --observer server
expect 2 'without --observer' "$pricer" privacy ten.pricer --coalition 1 --observer link
expect 1 'is not a list' "$pricer" privacy ten.pricer --coalition 1,12
expect 1 'is not a list' "$pricer" privacy ten.pricer --coalition 1,,2
expect 1 'is not between 1 and' "$pricer" privacy ten.pricer --rounds 99999999999
expect 1 '' "$pricer" privacy missing.pricer
[ "$(rows 'SELECT count(*) FROM privacy')" = "$before" ] ||
    fail "a refused question was stored"

exit $bad
