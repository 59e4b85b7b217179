#!/usr/bin/env bash
# Rounds relative to the last estimate as a user meets them: planned, accounted
# for, audited and played, refused where they mean nothing, and every mistake in
# the scenario with its line. Studies of sums that have them are refused in words.
# $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >six.yaml <<END
dimension: 4
radius: 2
reference: last
step: 0.5
rounds: 3
network: {generator: ring, nodes: 6, p: 0.8, hops: 2, uplink: 0.6}
trust: {everyone: {eps: 12, delta: 1e-3}}
END
expect 0 "step 0.5" "$pricer" new six.pricer six.yaml
expect 0 "relative to the last estimate" "$pricer" plan six.pricer

# A step of 17 digits is the same to a study as to a scenario.
sed 's/^radius.*/radius: 3/; s/^step.*/step: 0.30000000000000004/' six.yaml >digits.yaml
expect 0 "step 0.3" "$pricer" new digits.pricer digits.yaml
expect 0 "relative to the last estimate" "$pricer" plan digits.pricer

# Played: what goes wrong, and what the page says.
expect 0 "nodes cut" "$pricer" simulate six.pricer --rounds 12 --trials 30 \
    --csv walk.csv --plot walk.svg
python3 -c 'import xml.dom.minidom as m
assert m.parse("walk.svg").documentElement.tagName == "svg"' || fail "the walk's picture"
expect 1 "rows" "$pricer" simulate six.pricer --rounds 3 --data \
    "$here"/data/shapes-1000-images-idx3-ubyte.gz
expect 2 "are for --rounds" "$pricer" simulate six.pricer --csv walk.csv
expect 0 "six.html" "$pricer" report six.pricer -o six.html
grep -q "relative to the last estimate" six.html ||
    fail "the report does not say that rounds are relative"

# What is not defined says so.
"$pricer" sweep six.yaml --vary network.p=0.5 >/dev/null 2>&1
grep -q "leave reference out" sweep/sweep.csv || fail "a sweep plays walks"
expect 1 "K-means is not defined" "$pricer" kmeans six.pricer --data \
    "$here"/data/shapes-1000-images-idx3-ubyte.gz
expect 1 "power iteration is not defined" "$pricer" power six.pricer --data \
    "$here"/data/shapes-1000-images-idx3-ubyte.gz

# Sums know neither reference nor repeat nor horizon: scenarios say it by line, and
# so do studies of earlier versions.
sed 's/^trust.*/trust: {eps: 8, delta: 1e-3}/' six.yaml >sum.yaml
expect 1 "sum.yaml:3: reference belongs to 'scheme: forward', and the scheme is sum" \
    "$pricer" new sum.pricer sum.yaml
grep -v "^reference\|^step" sum.yaml >plain.yaml
expect 1 "repeat belongs to 'scheme: forward'" "$pricer" new sum.pricer plain.yaml --set repeat=3
expect 1 "there is no key horizon: for averages of rounds" \
    "$pricer" new sum.pricer plain.yaml --set horizon=3
"$pricer" new plain.pricer plain.yaml >/dev/null && "$pricer" plan plain.pricer >/dev/null ||
    fail "no plan of sums"
expect 1 "--rounds plays plans of 'scheme: forward'" "$pricer" simulate plain.pricer --rounds 3
for setting in "'repeat', 3" "'reach', 2" "'horizon', 64"; do
    cp plain.pricer old.pricer
    sqlite3 old.pricer "REPLACE INTO setting VALUES ($setting)"
    for verb in plan simulate show plans; do
        expect 1 "which 'scheme: sum' no longer has" "$pricer" $verb old.pricer
    done
done
cp plain.pricer old.pricer
sqlite3 old.pricer "INSERT INTO setting VALUES ('repeat', 1), ('horizon', 0)"
expect 0 "scheme" "$pricer" show old.pricer
sqlite3 old.pricer "UPDATE plan SET method = 'joint'"
expect 0 '"given"' "$pricer" plans old.pricer --json

# The plan, the privacy and the law of releases are those of
# the step, attempts go with it, and a demo's rounds are those of a walk.
cp six.yaml forward.yaml
grep -v "^reference\|^step" forward.yaml | sed 's/^radius.*/radius: 0.5/' >alone.yaml
for study in forward alone; do
    "$pricer" new $study.pricer $study.yaml >/dev/null &&
        "$pricer" plan $study.pricer --json >$study.json &&
        "$pricer" privacy $study.pricer --json >$study-privacy.json || fail "$study: no plan"
done
expect 0 "Every node is taken to have the last estimate" "$pricer" plan forward.pricer
expect 0 "of that of always keeping the last estimate" "$pricer" advise forward.pricer
expect 0 "No claim is contradicted" "$pricer" audit forward.pricer --trials 2000
for threads in 1 2; do
    "$pricer" simulate forward.pricer --rounds 12 --trials 40 --threads $threads --json \
        --csv walk.csv --plot walk.svg >walk-$threads.json || fail "no walk"
done
cmp walk-1.json walk-2.json || fail "a walk depends on threads"
python3 - <<'PYTHON' || fail "forwarding of changes"
import csv, json
one, two = (json.load(open(f)) for f in ("forward.json", "alone.json"))
assert one["mse_worst_case"] == two["mse_worst_case"] > 0
assert one["reference"] == "last" and two["reference"] == "none"
assert one["radius"] == two["radius"] == 0.5 and one["reach"] == 2
a, b = (json.load(open(f"{study}-privacy.json"))["statements"] for study in ("forward", "alone"))
kinds = [{s.pop("kind") for s in all} for all in (a, b)]
assert a == b and kinds == [{"bound"}, {"exact"}] and 11.9 < a[0]["epsilon"] <= 12
walk = json.load(open("walk-1.json"))
rows = list(csv.DictReader(open("walk.csv")))
assert [float(r["error"]) for r in rows] == walk["error"] and len(rows) == 12
assert walk["cut"][0] == 6 and walk["cut"][-1] < 1 and walk["bar"][0] > 0
# All data are equal, so that nobody stays cut, and the plan's bound holds in the end.
assert walk["error"][-1] < one["mse_worst_case"] < walk["error"][0] / 10
PYTHON
"$pricer" new forward.pricer forward.yaml --force --set repeat=2 >/dev/null &&
    "$pricer" plan forward.pricer >/dev/null || fail "no plan of two attempts"
expect 0 "each round relative" "$pricer" simulate forward.pricer --rounds 3 --trials 5
expect 0 "the fleet's rounds are the simulator's" "$pricer" demo forward.pricer --rounds 10
expect 1 "make another study for the demo" "$pricer" demo forward.pricer --rounds 10
printf 'node,p,everyone_eps\n0,.5,4\n1,.5,4\n' >nodes.csv
printf 'from,to,p\n0,1,.5\n' >links.csv
printf '%s\n' 'dimension: 2' 'reference: last' 'step: 0.1' 'repeat: 2' \
    'network: {files: {nodes: nodes.csv, links: links.csv}}' >files.yaml
expect 0 "step 0.1, scheme forward" "$pricer" new files.pricer files.yaml

# Mistakes, each with file and line.
wrong() { # the line, what is said, the scenario's first lines
    printf '%s\n' "$3" >bad.yaml
    grep "^network\|^trust\|^dimension" six.yaml >>bad.yaml
    expect 1 "bad.yaml:$1: $2" "$pricer" new bad.pricer bad.yaml
}
wrong 1 "reference is 'first', expected none|last" "reference: first"
wrong 1 "reference is last and the key step" "reference: last"
wrong 1 "step is how far" "step: 0.1"
wrong 2 "step = 3 is above 1" $'reference: last\nstep: 3'
wrong 2 "step = 0 is outside" $'reference: last\nstep: 0'
wrong 2 "step is 'wide', expected a number" $'reference: last\nstep: wide'
wrong 3 "diameter = 0.1 is below 0.2, twice the step" $'reference: last\nstep: 0.1\ndiameter: 0.1'
printf 'node,p,radius,everyone_eps\n0,.5,1,4\n1,.5,.5,4\n' >nodes.csv
printf '%s\n' 'dimension: 2' 'reference: last' 'step: 0.1' \
    'network: {files: {nodes: nodes.csv, links: links.csv}}' >files.yaml
expect 1 "reference: last cannot count with radii that differ" \
    "$pricer" new bad.pricer files.yaml
exit $bad
