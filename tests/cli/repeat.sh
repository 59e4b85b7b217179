#!/usr/bin/env bash
# Rounds that repeat their payloads as an operator meets them, on one study: new,
# plan, privacy, simulate, demo, plan from what it measured, privacy, audit,
# report. Every number that two parts report is compared. $1: the build folder.
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
trust: {eps: 1, delta: 1e-3, ring: {hops: 1, eps: 100}, server: {eps: 150, delta: 1e-3}}
END
"$pricer" new four.pricer four.yaml >/dev/null 2>&1 || fail "no study"
expect 0 "decoded together" "$pricer" plan four.pricer
"$pricer" plan four.pricer --json >plan.json || fail "no plan"
expect 0 "3 attempts with the same payloads" "$pricer" privacy four.pricer
expect 0 "all sums decoded together" "$pricer" simulate four.pricer --trials 2000
expect 0 "not played" "$pricer" simulate four.pricer --trials 200 --engine faithful
for engine in fast faithful; do
    "$pricer" simulate four.pricer --trials 4000 --engine $engine --json >$engine.json ||
        fail "no simulation"
done
"$pricer" privacy four.pricer --observer server --json >three.json || fail "no account"
"$pricer" new one.pricer four.yaml --set repeat=1 >/dev/null 2>&1
"$pricer" plan one.pricer >/dev/null 2>&1
"$pricer" privacy one.pricer --observer server --json >one.json || fail "no account"
"$pricer" demo four.pricer --rounds 40 --keep demo --json >demo.json || fail "no demo"
"$pricer" plan four.pricer --from-deliveries --json >measured.json || fail "no plan from deliveries"
"$pricer" privacy four.pricer --observer server --plan 2 --json >again.json || fail "no account"
"$pricer" audit four.pricer --plan 2 --trials 4000 --json >audit.json || fail "no audit"
"$pricer" report four.pricer --plan 2 -o four.html >/dev/null || fail "no report"
/usr/bin/python3 - <<'PYTHON' || fail "the numbers of a round that repeats"
import json, math, sqlite3


def read(name):
    return json.load(open(name + ".json"))


def near(a, b, what, within=1e-9):
    assert abs(a - b) <= within * abs(b), (what, a, b)


def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


plan, demo = read("plan"), read("demo")
study = sqlite3.connect("four.pricer")
ask = lambda sql: study.execute(sql).fetchone()
# One decoder: planned, stored, simulated and run.
upper, constant, attempts = ask(
    "SELECT upper, constant, attempts FROM decoder WHERE plan = 2")
assert attempts == plan["decoder_attempts"] == demo["repeat"] == 3
near(plan["decoder_mse_upper"], upper, "plan")
near(demo["worst_case"], upper, "demo")
for engine in ("fast", "faithful"):
    o = read(engine)
    near(o["worst_case"], upper, engine)
    near(o["equal_worst_case"], constant, engine)
    assert o["repeat"] == 3 and upper < constant
    assert o["mse"] <= o["worst_case"] + 4 * o["mse_stderr"], o
    assert o["mse"] < o["equal_mse"], o
fast, faithful = read("fast"), read("faithful")
assert fast["mse"] < fast["fresh_mse"] and faithful["fresh_mse"] is None
near(fast["bar"], faithful["bar"], "bars of the same links")
for key in ("mse", "equal_mse"):
    apart = math.hypot(fast[key + "_stderr"], faithful[key + "_stderr"])
    assert abs(fast[key] - faithful[key]) < 5 * apart, key  # 1 in 10^6
# The fleet's rounds are the simulator's, 40 of them with 3 attempts each.
assert demo["same_rounds_agree"] and demo["rounds"] == 40
near(demo["measured"], demo["simulated_same_rounds"], "same rounds")
assert ask("SELECT count(*), min(attempts), max(attempts) FROM round") == (40, 3, 3)
assert ask("SELECT count(*), count(DISTINCT attempt) FROM arrival") == (480, 3)
assert ask("SELECT sum(arrived) FROM arrival") == ask("SELECT sum(arrived) FROM round")
near(ask("SELECT avg(bar) FROM round")[0], demo["bar"], "bar")
# Probabilities are counted by attempt.
for node, p, q in study.execute("SELECT node, n.p, node.p FROM network_node n JOIN node USING (node)"):
    up, tried = ask(f"SELECT sum(arrived), count(*) FROM arrival WHERE node = {node}")
    assert tried == 120
    near(p, (up + 2 * q) / (tried + 2), "measured p")
# Links are charged once a round, and the row of the server is the account.
near(2, ask("SELECT max(plan) - 1 FROM plan")[0], "plans")
account = {s["node"]: s for s in read("again")["statements"]}
assert account == {s["node"]: s for s in read("three")["statements"]}
for i in range(4):
    ledger = sqlite3.connect(f"demo/{i}.ledger")
    rounds, most = ledger.execute("SELECT count(DISTINCT round), max(c) FROM "
                                  "(SELECT round, key, count(*) c FROM release GROUP BY round, key)"
                                  ).fetchone()
    assert (rounds, most) == (40, 1), (i, rounds, most)
    mu2 = sum((2 * w / s) ** 2 for w, s in study.execute(
        f"SELECT weight, noise FROM plan_node WHERE plan = 2 AND node = {i} AND weight > 0 UNION ALL "
        f"SELECT weight, noise FROM plan_link JOIN link USING (link) WHERE plan = 2 AND from_node = {i} "
        "AND weight > 0"))
    charged = [mu for mu, in ledger.execute("SELECT DISTINCT mu FROM release")]
    mu = min(charged, key=lambda mu: abs(mu - math.sqrt(mu2)))
    near(mu, math.sqrt(mu2), "the ledger's row of the server")
    eps = account[i]["epsilon"]
    near(phi(mu / 2 - eps / mu) - math.exp(eps + math.log(phi(-mu / 2 - eps / mu))),
         account[i]["delta"], "the account of the server", 1e-6)
# What the audit holds the attack against is the account.
audit = read("audit")
assert not audit["contradicted"]
for row in audit["audits"]:
    claimed, = [c["epsilon"] for c in row["claims"] if c["claim"] == "account"]
    if row["observer"] == "server":
        near(claimed, account[row["node"]]["epsilon"], "audit")
page = open("four.html").read()
for number in (upper, constant):
    assert f"{number:.4g}" in page, number
assert "3 attempts" in page
text = [json.dumps(read(f)) for f in ("one", "three")]
assert '"repeat": 3' in text[1] and '"repeat": 1' in text[0]
PYTHON
expect 1 "identities have no account" "$pricer" privacy four.pricer --protect identity
expect 1 "identities" "$pricer" audit four.pricer --protect identity
expect 1 "losses do not count" "$pricer" privacy four.pricer --eavesdropper receiver
expect 1 "rounds of one attempt" "$pricer" simulate four.pricer --decoder adaptive
expect 1 "rounds of one attempt" "$pricer" demo four.pricer --decoder adaptive --rounds 1
expect 0 "repeat" "$pricer" sweep four.yaml --vary repeat=1,2,4 --trials 2000 --to sweep
/usr/bin/python3 - <<'PYTHON' || fail "a sweep over repeat"
import csv
rows = list(csv.DictReader(open("sweep/sweep.csv")))
assert [r["repeat"] for r in rows] == ["1", "2", "4"], rows
mse = [float(r["mse"]) for r in rows]
assert mse[0] > mse[1] > mse[2], mse
for r in rows:
    assert float(r["mse"]) <= float(r["decoder_upper"]) + 4 * float(r["mse_stderr"]), r
    assert float(r["decoder_upper"]) <= float(r["worst_case"]), r
PYTHON
exit $bad
