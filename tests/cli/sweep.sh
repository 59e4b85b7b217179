#!/usr/bin/env bash
# pricer sweep as a user runs it: its table and plot, that it goes on after a
# stop or a kill with the same result, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

paper=$here/examples/paper.yaml
grid=(--vary network.p=0.1,0.5 --vary trust.eps=1,10,inf --vary objective.bias=worst-case,unbiased
    --trials 20000 --decoder constant)

# The whole grid, in order, agreeing with the prediction.
expect 0 "12 cells in all/sweep.csv" "$pricer" sweep "$paper" "${grid[@]}" --to all
python3 - <<'PYTHON' || fail "the table is wrong"
import csv
rows = list(csv.DictReader(open("all/sweep.csv")))
assert len(rows) == 12
keys = [(r["network.p"], r["trust.eps"], r["objective.bias"]) for r in rows]
assert keys == [(p, e, b) for p in ("0.1", "0.5") for e in ("1", "10", "inf")
                for b in ("worst-case", "unbiased")]
for r in rows:
    assert r["status"] == "ok" and r["nodes"] == "10" and r["trials"] == "20000", r
    assert abs(float(r["mse"]) - float(r["predicted"])) < 4.9 * float(r["mse_stderr"]), r
    assert float(r["gap"]) <= 1e-8 and float(r["mse"]) > 0
best = {k: float(r["objective"]) for k, r in zip(keys, rows)}
assert all(best[p, "inf", b] <= best[p, "1", b] for p, e, b in best)
PYTHON
grep -q '</svg>' all/sweep.svg || fail "no plot"

# A cell is what plan and simulate say of its study.
"$pricer" new one.pricer "$paper" --set network.p=0.1 --set trust.eps=10 >/dev/null
"$pricer" plan one.pricer >/dev/null
"$pricer" simulate one.pricer --decoder constant --trials 20000 --json >one.json
python3 - <<'PYTHON' || fail "a cell differs from plan and simulate"
import csv, json
row = list(csv.DictReader(open("all/sweep.csv")))[2]
assert float(row["mse"]) == json.load(open("one.json"))["mse"], row
PYTHON

# With the decoder, which is what they say by default.
expect 0 "2 cells" "$pricer" sweep "$paper" --vary network.p=0.1,0.5 \
    --set trust.eps=10 --trials 20000 --to decoded
"$pricer" simulate one.pricer --trials 20000 --json >one.json
python3 - <<'PYTHON' || fail "a decoded cell differs from plan and simulate"
import csv, json
rows = list(csv.DictReader(open("decoded/sweep.csv")))
assert float(rows[0]["mse"]) == json.load(open("one.json"))["mse"], rows
for r in rows:
    assert float(r["decoder_lower"]) <= float(r["decoder_upper"]) <= float(r["worst_case"])
    assert float(r["mse"]) < float(r["decoder_upper"]) + 5 * float(r["mse_stderr"])
    assert r["predicted"] in ("", "nan") and float(r["bar"]) > 0, r
PYTHON
expect 2 "needs --engine faithful" "$pricer" sweep "$paper" --decoder adaptive \
    --vary network.p=0.1

# Started again there is nothing to do; a table cut anywhere is completed.
cp all/sweep.csv whole.csv
expect 0 "12 cells" "$pricer" sweep "$paper" "${grid[@]}" --to all
cmp -s whole.csv all/sweep.csv || fail "a second run changed the table"
size=$(stat -c %s whole.csv)
for part in 10 200 777 $((size - 1)) $((size - 300)); do
    head -c "$part" whole.csv >all/sweep.csv
    expect 0 "12 cells" "$pricer" sweep "$paper" "${grid[@]}" --to all
    cmp -s whole.csv all/sweep.csv || fail "cut at $part the table is another"
done

# Ctrl-C and kill -9, then on with the same command.
long=("${grid[@]}" --engine faithful --trials 3000)
expect 0 "12 cells" "$pricer" sweep "$paper" "${long[@]}" --to whole
python3 - "$pricer" "$paper" "${long[@]}" --to cut <<'PYTHON' || fail "Ctrl-C"
import signal, subprocess, sys, time
command = [sys.argv[1], "sweep", *sys.argv[2:]]
hear = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
for number, words in ((signal.SIGINT, "stopped after"), (signal.SIGKILL, "")):
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    time.sleep(0.4)
    run.send_signal(number)
    _, err = run.communicate(timeout=120)
    if run.returncode == 0 and number == signal.SIGINT:
        print("it was done before Ctrl-C")
    elif run.returncode == 0 or words not in err:
        sys.exit(f"{number}: exit {run.returncode}, {err}")
PYTHON
expect 0 "12 cells" "$pricer" sweep "$paper" "${long[@]}" --to cut
cmp -s whole/sweep.csv cut/sweep.csv || fail "after a stop the table is another"

# Own data, strategies, decoders and accounts: each column is what the other verbs
# say of the same study.
cat >rows.py <<'PYTHON'
import random, struct, sys
random.seed(int(sys.argv[1]))
count, path = int(sys.argv[2]), sys.argv[3]
head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 128), }" % count
head += " " * (-(len(head) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    for _ in range(count):
        row = [random.gauss(0, 1) for _ in range(128)]
        length = sum(x * x for x in row) ** 0.5
        file.write(struct.pack("<128d", *(x / length / 2 for x in row)))
PYTHON
python3 rows.py 5 10 own.npy
python3 rows.py 5 9 nine.npy
beside=(--vary network.p=0.1,0.5 --set trust.eps=10 --trials 2000 --data own.npy --privacy
    --strategy best --strategy colrel --decoder minimax --decoder constant)
expect 0 "server eps" "$pricer" sweep "$paper" "${beside[@]}" --to own
"$pricer" simulate one.pricer --trials 2000 --data own.npy --strategy best --strategy colrel \
    --json >minimax.json
"$pricer" simulate one.pricer --trials 2000 --data own.npy --decoder constant --json >constant.json
for observer in link server; do
    "$pricer" privacy one.pricer --observer $observer --json >$observer.json
done
"$pricer" sweep "$paper" "${beside[@]}" --to own --json >own.json
python3 - <<'PYTHON' || fail "the columns of own data differ from the other verbs"
import csv, json
load = lambda name: json.load(open(name))
row = list(csv.DictReader(open("own/sweep.csv")))[0]
number = lambda name: float(row[name])
first, constant = load("minimax.json"), load("constant.json")
assert row["status"] == "ok" and number("clipped") == 0, row
assert number("mse") == first["mse"] and number("constant_mse") == constant["mse"], row
for name in ("best", "colrel"):
    there = next(o for o in first["strategies"] if o["strategy"] == name)
    assert number(name + "_mse") == there["mse"], (row, there)
for observer in ("link", "server"):
    told = load(observer + ".json")["statements"]
    real = lambda v: float("inf") if v == "inf" else v
    assert number(observer + "_eps") == max(real(s["epsilon"]) for s in told), row
    assert number(observer + "_eps_lower") == max(real(s["epsilon_lower"]) for s in told), row
    assert number(observer + "_delta") == max(s["delta"] for s in told), row
spoken = load("own.json")
assert list(spoken["rows"][0]) == list(row) and list(spoken["units"]) == list(row)[2:], spoken
for name, value in spoken["rows"][0].items():
    assert value is None and row[name] == "" or str(value) == row[name] or \
        float(value) == float(row[name]), (name, value)
PYTHON
grep -q 'eps towards the server' own/sweep.gp || fail "the plot leaves the server out"
# Other data under the same name are another sweep; data for other nodes say so.
python3 rows.py 6 10 own.npy
expect 1 "holds another sweep" "$pricer" sweep "$paper" "${beside[@]}" --to own
expect 0 "1 of them not ok" "$pricer" sweep "$paper" --vary network.p=0.1 --data nine.npy --to nine
expect 1 "nothing.csv" "$pricer" sweep "$paper" --vary network.p=0.1 --data nothing.csv --to x
expect 2 "no strategy 'worst'" "$pricer" sweep "$paper" --vary network.p=0.1 --strategy worst --to x
expect 2 "not 'maximin'" "$pricer" sweep "$paper" --vary network.p=0.1 --decoder maximin --to x
expect 2 "at most 1" "$pricer" sweep "$paper" --vary network.p=0.1 --delta 2 --to x

# A full disk (here a limit on the size of files) ends it in words wherever it comes;
# with room again it goes on, and the table is the same.
full=(--vary network.p=0.1,0.3,0.5,0.7,0.9 --vary trust.eps=1,2,4 --trials 200 --decoder constant
    --strategy best --delta 1e-5)
"$pricer" sweep "$paper" "${full[@]}" --to roomy >/dev/null 2>&1
for room in 0 1 2 4; do
    said=$(bash -c 'trap "" XFSZ; ulimit -f "$1"; shift; "$@"' limited $room "$pricer" sweep \
        "$paper" "${full[@]}" --to full 2>&1 >/dev/null) && fail "a full disk went unseen"
    grep -q 'full/sweep\.[a-z]*: ' <<<"$said" || fail "a full disk is not named: $said"
done
expect 0 "15 cells" "$pricer" sweep "$paper" "${full[@]}" --to full
cmp -s roomy/sweep.csv full/sweep.csv || fail "after a full disk the table is another"
cmp -s roomy/sweep.gp full/sweep.gp || fail "after a full disk the plot is another"

# Another sweep does not mix with it; --force begins anew.
expect 1 "holds another sweep" "$pricer" sweep "$paper" --vary network.p=0.1 --to all
cmp -s whole.csv all/sweep.csv || fail "a refusal changed the table"
expect 0 "1 cells" "$pricer" sweep "$paper" --vary network.p=0.1 --trials 1000 --to all --force

# Cells without a plan say why and the rest goes on.
expect 0 "1 of them not ok" "$pricer" sweep "$paper" --set objective.bias=unbiased \
    --vary network.uplink=0,0.5 --trials 1000 --to none
grep -q 'reach the server' none/sweep.csv || fail "the table does not say why: $(cat none/sweep.csv)"

# A key whose values all give the same is named.
expect 0 "trust.ring.delta has no effect" "$pricer" sweep "$paper" --vary trust.ring.delta=1e-3,.001 \
    --vary network.p=0.1,0.5 --trials 1000 --to idle
expect 0 '"trust.ring.delta"' "$pricer" sweep "$paper" --vary trust.ring.delta=1e-3,.001 \
    --vary network.p=0.1,0.5 --trials 1000 --to idle --json
"$pricer" sweep "$paper" --vary rounds=1,4 --trials 1000 --to busy 2>&1 |
    grep -q 'no effect' && fail "a key with an effect was named"
expect 2 "'0' for --trials" "$pricer" sweep "$paper" --vary network.p=0.1 --trials 0 --to x

# What is refused makes nothing.
expect 2 "--vary KEY=A,B,... is needed" "$pricer" sweep "$paper" --to x
expect 2 "is not KEY=A,B" "$pricer" sweep "$paper" --vary network.p --to x
expect 2 "is not KEY=A,B" "$pricer" sweep "$paper" --vary network.p=1,,2 --to x
expect 2 "is not KEY=A,B" "$pricer" sweep "$paper" --vary network.p=.1 --vary network.p=.2 --to x
expect 1 "network.q" "$pricer" sweep "$paper" --vary network.q=1,2 --to x
expect 1 "1.3" "$pricer" sweep "$paper" --vary network.p=0.1,1.3 --to x
expect 1 "nothing.yaml" "$pricer" sweep nothing.yaml --vary network.p=0.1 --to x
[ ! -e x ] || fail "a refusal left a folder"
exit $bad
