#!/usr/bin/env bash
# pricer reproduce: the table's promise holds, two runs agree, plots are drawn.
# $1: the build folder.
set -euo pipefail
pricer=$(realpath "$1")/pricer
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$root"/tests/expect.sh

"$pricer" reproduce table1 --to one >summary || fail "table1"
grep -q 'certified optimal' summary || fail "the summary is not printed"
python3 - <<'END' || fail "table1.csv"
import csv
rows = list(csv.DictReader(open("one/table1.csv")))
assert len(rows) == 6
for row in rows:
    objective, paper, bound = (float(row[key]) for key in
                               ("objective", "paper_objective", "bound"))
    assert objective <= paper, row
    assert bound <= objective * (1 + 1e-9) and objective - bound < 1e-6, row
    assert float(row["own_worst_case"]) < float(row["worst_case"]), row
END
if command -v gnuplot >/dev/null; then
    head -c 8 one/table1.png | grep -q PNG || fail "no PNG"
    grep -q '</svg>' one/table1.svg || fail "no SVG"
else
    echo "skipped: plots of reproduce, gnuplot is not there"
fi

# Two runs of the rest, small, agree to the byte.
for run in first second; do
    for part in trust erdos-renyi table2; do
        "$pricer" reproduce $part --to $run --seeds 2 --no-plots >/dev/null ||
            fail "$part"
    done
done
diff -r first second || fail "two runs differ"
python3 - <<'END' || fail "trust.csv or erdos-renyi.csv"
import csv
rows = list(csv.DictReader(open("first/trust.csv")))
for p in ("0.90000000000000002", "0.10000000000000001"):
    errors = [float(row["own_mse"]) for row in rows if row["p_c"] == p]
    assert len(errors) == 6 and errors == sorted(errors, reverse=True), errors
for row in rows:
    if row["hops"] in "1234":  # nobody sends much to whom it does not trust
        assert float(row["weight_others"]) < 1e-3 * float(row["weight_trusted"])
for row in csv.DictReader(open("first/erdos-renyi.csv")):
    a, b = float(row["closed_form"]), float(row["optimiser"])
    assert abs(a / b - 1) < 1e-8, row
END
python3 - <<'END' || fail "leakage.csv, conditions.csv or tails.csv"
import csv
read = lambda name: list(csv.DictReader(open(f"first/{name}.csv")))
leaks = {(row["m"], row["others"]): row for row in read("leakage")}
for others in ("5", "10", "20", "50", "100", "200"):
    for kind in ("data_eps", "identity_eps"):  # m cancels
        one, two, three = (float(leaks[m, others][kind])
                           for m in ("5", "10", "20"))
        assert abs(two / one - 1) < 1e-3 and abs(three / one - 1) < 1e-3
fifty = {key: float(value) for key, value in leaks["5", "50"].items()}
assert abs(fifty["data_eps"] / 0.0604525 - 1) < 1e-3  # NumPy
assert abs(fifty["identity_printed"] - 0.085) < 5e-4
assert fifty["identity_eps"] > 5 * fifty["identity_printed"]
for row in leaks.values():
    assert float(row["data_eps"]) <= float(row["data_corrected"]), row
    assert float(row["identity_eps"]) <= float(row["identity_corrected"]), row
for row in read("conditions"):  # sigma at the least eps meets what it should
    p, least = float(row["p"]), float(row["eps_at_least"])
    if p > 7 / 8:
        sigma = 7.5529590653 / (int(row["m"]) * p * 0.8 * least)
        assert 1 - 2 * sigma * (sigma + 2) * (1 - p) > 0, row
    else:
        assert least == float("inf"), row
for row in read("tails"):
    p, printed, bernstein, hoeffding, needed, tail = map(float, row.values())
    assert needed <= min(bernstein, hoeffding) + 0.25, row
    assert (bernstein < hoeffding) == (p < 0.245 or p > 0.755), row
assert any(float(row["tail_at_printed"]) > 1e-3 for row in read("tails"))
END

# Batches given one by one and with commas are the same data as one file.
python3 - <<'END'
import random
draw = random.Random(1)
for name in "abc":
    open(name + ".bin", "wb").write(b"".join(
        bytes([0]) + bytes(draw.choices(range(200 * (k % 3 == 0), 256), k=3072))
        for k in range(40)))
open("whole.bin", "wb").write(b"".join(
    open(name + ".bin", "rb").read() for name in "abc"))
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (60, 4), }"
open("few.npy", "wb").write(b"\x93NUMPY\x01\x00\x76\x00" +
                            head.ljust(117).encode() + b"\n" +
                            b"\0\0\x80\x3f" * 240)
END
"$pricer" reproduce table2 --to whole --seeds 1 --no-plots --cifar whole.bin \
    >/dev/null || fail "one batch"
"$pricer" reproduce table2 --to parts --seeds 1 --no-plots --cifar a.bin,b.bin \
    --cifar c.bin >/dev/null || fail "three batches"
diff -r whole parts || fail "batches differ"

# Cells are compared by standard errors of the mean: the same deviations are
# further apart the more runs there are.
"$pricer" reproduce table2 --to few --seeds 2 --no-plots --cifar whole.bin \
    >few.out || fail "two runs"
python3 - <<'END' || fail "the distances of table2"
import csv, math, re
said = re.findall(r"(\S+) times the paper's, (\S+) standard\s+errors away "
                  r"\((\S+) if\s+the\s+paper's\s+\+- is one\)",
                  " ".join(open("few.out").read().split()))
rows = list(csv.DictReader(open("few/table2.csv")))
assert len(said) == len(rows) == 4, said
for row, cell in zip(rows, said):
    mean, deviation, paper, stated = (float(row[key]) for key in (
        "mean", "deviation", "paper", "paper_deviation"))
    apart, own = abs(mean - paper), deviation / math.sqrt(2)
    for value, text in ((mean / paper, cell[0]),
                        (apart / math.hypot(stated / math.sqrt(2), own), cell[1]),
                        (apart / math.hypot(stated, own), cell[2])):
        assert abs(value - float(text)) <= 0.0501, (row, cell)
END

# The descent: its own code and the library's end at the same objectives from
# the same starts, nobody ends below the optimum, and bias is there to be drawn.
"$pricer" reproduce convergence --to first --no-plots >/dev/null ||
    fail "convergence"
"$pricer" new descent.pricer first/convergence.yaml >/dev/null
"$pricer" plan descent.pricer --method gradient --bias l1 --lambda 0.5 \
    --calibration classic --iterations 30000 --trace-every 30000 --seed 1 \
    --trace trace.csv >/dev/null 2>&1 || fail "plan --method gradient"
python3 - <<'END' || fail "convergence.csv"
import csv
rows = list(csv.DictReader(open("first/convergence.csv")))
number = lambda row, key: float(row[key])
ends = [number(row, "objective") for row in csv.DictReader(open("trace.csv"))
        if row["iteration"] == "30000"]
last = {(row["method"], row["step"], row["lambda"]): row for row in rows}
assert len(ends) == 4 and len(last) == 18
mean = number(last["descent", "0.01", "0.5"], "objective")
assert abs(mean / (sum(ends) / 4) - 1) < 1e-9, (mean, ends)
for row in rows:
    assert number(row, "objective") >= number(row, "optimum"), row
    parts = number(row, "mse") + number(row, "lambda") * number(row, "bias")
    assert abs(parts / number(row, "objective") - 1) < 1e-9, row
for key, row in last.items():
    assert row["iteration"] == ("1500" if key[0] == "adam" else "30000"), row
END

# Mistakes.
status=0
"$pricer" reproduce table3 --to one 2>messages >out || status=$?
[ $status -eq 2 ] && grep -q 'the parts are' messages || fail "an unknown part"
status=0
"$pricer" reproduce table1 2>messages || status=$?
[ $status -eq 2 ] || fail "a missing --to"
status=0
"$pricer" reproduce table1 --to /proc/nowhere 2>messages || status=$?
[ $status -eq 1 ] || fail "a folder that cannot be made"
status=0
"$pricer" reproduce all --to none --cifar a.bin --cifar /nonexistent.bin \
    2>messages >out || status=$?
[ $status -eq 1 ] && grep -q nonexistent.bin messages ||
    fail "data that are not there"
[ ! -e none ] || fail "a folder was made before the data were read"
status=0
"$pricer" reproduce table2 --to none --cifar a.bin,few.npy 2>messages ||
    status=$?
[ $status -eq 1 ] && grep -q 'few.npy: .*columns' messages ||
    fail "batches of two shapes"
exit $bad
