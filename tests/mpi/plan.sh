#!/usr/bin/env bash
# pricer-mpi plan as a user runs it: a study gets the plan that pricer gives it,
# bit for bit where its network is in order and to 1e-9 where ranks reorder it;
# and what becomes of a job that is stopped, killed or has no disk.
# $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/mpi/job.sh
. "$here"/tests/mpi/job.sh

cat >field.yaml <<'YAML'
dimension: 100
network: {generator: geometric, nodes: 4500, uplink: 0.05}
trust: {eps: 1, delta: 1e-5, probable: {above: 0.5, eps: 1000}}
YAML
"$pricer" new field.pricer field.yaml >/dev/null || fail "no study"

# What is printed and stored, but for the time it took.
plan() { # OUT COMMAND...
    local out=$1
    shift
    cp field.pricer copy.pricer
    "$@" copy.pricer --json >"$out.json" 2>"$out.err" ||
        fail "$*: $(cat "$out.err")"
    sed -i /seconds/d "$out.json"
    sqlite3 copy.pricer .dump >"$out.sql"
}
plan alone "$pricer" plan --name field
while read -r count threads; do
    plan many ranks "$count" plan --name field --threads "$threads" </dev/null
    cmp alone.json many.json || fail "plan: $count ranks print otherwise"
    cmp alone.sql many.sql || fail "plan: $count ranks store otherwise"
    grep -q "alone" many.err && fail "plan: $count ranks were not used"
done <<LIST
1 2
2 1
4 1
LIST

# The same network, made by the ranks in parts: its numbers are those.
ranks 3 plan field.yaml --report-only --tolerance 1e-8 --json >parts.json ||
    fail "plan --report-only"
python3 - <<'PYTHON' || fail "the report is of another plan"
import json, math
one, two = json.load(open("alone.json")), json.load(open("parts.json"))
assert math.isclose(one["objective"], two["objective"], rel_tol=1e-12)
assert two["feasible"]
assert len(two["ranks"]) == 3 and sum(r["nodes"] for r in two["ranks"]) == 4500
PYTHON

# A network from files, without positions and numbered anyhow; some links have
# no opposite.
python3 - <<'PYTHON'
import random
random.seed(3)
n, hops = 3000, 12
name = list(range(n))
random.shuffle(name)
with open("nodes.csv", "w") as out:
    out.write("node,p\n")
    out.writelines(f"{i},{0.9 if name[i] % 20 == 0 else 0.1}\n" for i in range(n))
with open("links.csv", "w") as out:
    out.write("from,to,p,eps\n")
    for i in range(n):
        for h in range(-hops, hops + 1):
            if h and (h > 0 or random.random() < 0.9):
                out.write(f"{name[i]},{name[(i + h) % n]},{0.4 + 0.04 * abs(h)},"
                          f"{1 + abs(h)}\n")
open("files.yaml", "w").write("""dimension: 20
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {delta: 1e-5, self: {eps: 2}}
""")
PYTHON
"$pricer" new files.pricer files.yaml >out.txt 2>&1 || fail "$(cat out.txt)"
cp files.pricer ours.pricer
"$pricer" plan files.pricer --json >alone.json || fail "plan of files"
ranks 2 plan ours.pricer --json >many.json 2>err.txt || fail "$(cat err.txt)"
grep -q "alone" err.txt && fail "plan of files: $(cat err.txt)"
python3 - <<'PYTHON' || fail "ranks plan a network from files otherwise"
import json, math
one, two = json.load(open("alone.json")), json.load(open("many.json"))
for key in ("objective", "bound"):
    assert math.isclose(one[key], two[key], rel_tol=1e-9), (key, one[key], two[key])
PYTHON

# What ranks cannot divide, and what goes wrong.
"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
expect 0 "rank 0 planned alone: the network is too small" ranks 2 plan ten.pricer
expect 1 "No such file" ranks 2 plan none.pricer
expect 2 "--help explains" ranks 2 plan ten.pricer --lambda 1 --bias unbiased
gone "plans that failed"

# A rank that is killed, and rank 0; Ctrl-C: the study is whole, and has the plan
# or does not.
whole() { # WORDS
    gone "$1"
    [ "$(sqlite3 stop.pricer 'PRAGMA integrity_check')" = ok ] ||
        fail "$1: the study is broken"
    "$pricer" show stop.pricer >out.txt || fail "$1: $(cat out.txt)"
}
for rank in 1 0; do
    cp field.pricer stop.pricer
    ranks 2 plan "$folder"/stop.pricer >out.txt 2>err.txt &
    await $rank
    kill -KILL "$victim"
    wait
    named $rank err.txt
    whole "plan, rank $rank killed"
done
cp field.pricer stop.pricer
ranks 2 plan "$folder"/stop.pricer >out.txt 2>err.txt &
await 1
kill -INT "$(pgrep -f "^mpirun .*$folder/stop.pricer")"
wait
whole "plan, Ctrl-C"

# A full disk: said once, and the study is as it was.
mkdir small
if mount -t tmpfs -o size=24m none small 2>/dev/null; then
    cp field.pricer small/
    head -c 24m /dev/zero >small/ballast 2>/dev/null
    expect 1 "full" ranks 2 plan small/field.pricer
    gone "plan on a full disk"
    rm small/ballast
    [ "$(sqlite3 small/field.pricer 'SELECT count(*) FROM plan')" = 0 ] ||
        fail "a full disk left a plan"
    ranks 2 plan small/field.pricer >/dev/null 2>&1 || fail "plan, room again"
    umount small
else
    echo "no right to mount: the full disk is not tried"
fi
exit $bad
