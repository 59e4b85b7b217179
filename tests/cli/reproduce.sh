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
sample=$root/data/fashion-mnist-1000-images-idx3-ubyte.gz

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
        "$pricer" reproduce $part --to $run --seeds 2 --no-plots \
            --sample "$sample" >/dev/null || fail "$part"
    done
done
diff -r first second || fail "two runs differ"
python3 - <<'END' || fail "trust.csv or erdos-renyi.csv"
import csv
rows = list(csv.DictReader(open("first/trust.csv")))
for p in ("0.90000000000000002", "0.10000000000000001"):
    errors = [float(row["own_mse"]) for row in rows if row["p_c"] == p]
    assert len(errors) == 6 and errors == sorted(errors, reverse=True), errors
for row in csv.DictReader(open("first/erdos-renyi.csv")):
    a, b = float(row["closed_form"]), float(row["optimiser"])
    assert abs(a / b - 1) < 1e-8, row
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
"$pricer" reproduce table2 --to one --cifar /nonexistent.bin 2>messages ||
    status=$?
[ $status -eq 1 ] || fail "data that are not there"
exit $bad
