#!/usr/bin/env bash
# Rounds that repeat their payloads as a user meets them: planned, accounted and
# simulated, and refused by what does not know them. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >four.yaml <<END
dimension: 16
repeat: 3
network: {generator: erdos-renyi, nodes: 4, uplink: 0.2, p: 0.7, good: {count: 1, uplink: 0.9}}
trust: {eps: 1, delta: 1e-3, ring: {hops: 1, eps: 100}}
END
"$pricer" new four.pricer four.yaml >/dev/null 2>&1 || fail "no study"
expect 0 "decoder of all attempts together" "$pricer" plan four.pricer
expect 0 "3 attempts with the same payloads" "$pricer" privacy four.pricer
expect 0 "all sums decoded together" "$pricer" simulate four.pricer --trials 2000
"$pricer" simulate four.pricer --trials 20000 --json >out.json || fail "no simulation"
"$pricer" privacy four.pricer --observer server --json >three.json || fail "no account"
"$pricer" new one.pricer four.yaml --set repeat=1 >/dev/null 2>&1
"$pricer" plan one.pricer >/dev/null 2>&1
"$pricer" privacy one.pricer --observer server --json >one.json || fail "no account"
python3 - <<'PYTHON' || fail "the numbers of a round that repeats"
import json
o = json.load(open("out.json"))
assert o["repeat"] == 3 and o["mse"] <= o["worst_case"] + 4 * o["mse_stderr"]
assert o["worst_case"] < o["equal_worst_case"] and o["mse"] < o["equal_mse"]
assert o["mse"] < o["fresh_mse"]
text = [json.dumps(json.load(open(f))) for f in ("one.json", "three.json")]
assert '"repeat": 3' in text[1] and '"repeat": 1' in text[0]
PYTHON
expect 1 "not audited yet" "$pricer" audit four.pricer
expect 1 "identities have no account" "$pricer" privacy four.pricer --protect identity
expect 1 "losses have no credit" "$pricer" privacy four.pricer --eavesdropper receiver
expect 1 "neither with --joint" "$pricer" plan four.pricer --joint
expect 1 "credit none alone" "$pricer" new bad.pricer four.yaml --set credit=losses
"$pricer" sweep four.yaml --vary network.p=0.5 >/dev/null 2>&1
grep -q "one attempt" sweep/sweep.csv || fail "a sweep plays rounds that repeat"
expect 1 "the server failed" "$pricer" demo four.pricer --rounds 1 --keep demo
grep -rq "rounds of one attempt" demo || fail "the server does not say why"
exit $bad
