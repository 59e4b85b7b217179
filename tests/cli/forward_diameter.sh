#!/usr/bin/env bash
# A diameter with 'scheme: forward': the Gaussian is calibrated to data no further apart,
# the sphere is not, and `best` takes the one of less variance. plan, privacy, audit,
# simulate, report and Python say the same, each with what its eps is about; fleets have no
# diameters and refuse. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

json() { sqlite3 :memory: "SELECT readfile('out.json')->>'$1'"; }
# check EXPRESSION: of awk.
check() { awk "BEGIN { exit !($1) }" || fail "$1"; }
near='This is about data of a node no further apart than'

cat >one.yaml <<'YAML'
dimension: 2
network: {generator: geometric, nodes: 30, uplink: 0.5}
trust: {everyone: {eps: 4, delta: 1e-5}}
hops: 2
YAML
# plan SET...: out.json and plan.txt of a study with these changes.
plan() {
    local sets=() set
    for set in "$@"; do sets+=(--set "$set"); done
    "$pricer" new s.pricer one.yaml --force "${sets[@]}" >new.txt 2>&1 &&
        "$pricer" plan s.pricer --json >out.json 2>err.txt &&
        "$pricer" plan s.pricer >plan.txt 2>err.txt || fail "plan $*: $(cat new.txt err.txt)"
}

# Variances at radius 1: of the Gaussian 9.351288 (D / 2)^2, of the sphere .4827078.
plan diameter=0.2
[ "$(json release) $(json diameter)" = "gaussian 0.2" ] || fail "$(cat out.json)"
check "$(json release_variance) > .09351288 && $(json release_variance) < .09351288 * (1 + 1e-4)"
check "$(json budget_used) <= 1 && $(json budget_used) > .999"
grep -qF "$near 0.2, its diameter." plan.txt || fail "$(cat plan.txt)"
worst=$(json mse_worst_case)
"$pricer" simulate s.pricer --trials 20000 --json >out.json || fail "simulate exited $?"
check "$(json mse) <= $worst + 5 * $(json mse_stderr) && $(json mse) > .9 * $worst"
# The real payloads, whose noise is what was planned.
"$pricer" simulate s.pricer --trials 4000 --engine faithful --json >out.json ||
    fail "simulate exited $?"
check "$(json mse) <= $worst * 1.02 + 5 * $(json mse_stderr) && $(json mse) > .9 * $worst"

"$pricer" privacy s.pricer --json >out.json || fail "privacy exited $?"
[ "$(json statements[0].diameter)" = 0.2 ] || fail "$(cat out.json)"
check "$(json statements[0].epsilon) <= 4 && $(json statements[0].epsilon_lower) > 3.999"
"$pricer" privacy s.pricer | grep -qF "$near 0.2" || fail "privacy does not name the diameter"
"$pricer" audit s.pricer --seed 1 --json >out.json || fail "audit exited $?: $(cat out.json)"
check "$(json audits[0].epsilon_fitted) > 3.5"
"$pricer" audit s.pricer --seed 1 | grep -qF "$near 0.2" || fail "audit: no diameter"
"$pricer" report s.pricer -o r.html >/dev/null && grep -qF "$near 0.2" r.html ||
    fail "the report does not name the diameter"
# Half of the noise is found out.
cp s.pricer half.pricer
sqlite3 half.pricer "UPDATE forward_plan_node SET noise = noise / 2, variance = variance / 4"
"$pricer" audit half.pricer --seed 1 --claim budget >/dev/null
[ $? = 3 ] || fail "an audit of half the noise does not contradict the plan"

# Fleets refuse.
refusal="Gaussian release of node 0 is for data no further apart than 0.2, its diameter"
expect 1 "$refusal" "$pricer" fleet s.pricer --to fleet
[ ! -e fleet ] || fail "a folder in spite of the refusal"
expect 1 "$refusal" "$pricer" demo s.pricer
"$pricer" keygen server.key >/dev/null && "$pricer" enrol s.pricer server server.key \
    tcp://127.0.0.1:7100 >/dev/null ||
    fail "enrol exited $?"
expect 1 "$refusal" "$build"/pricer-server --study s.pricer --key server.key --listen 127.0.0.1:0

# The sphere ignores it, and its guarantee is about all data; best takes it where it is better.
plan diameter=0.2 release=sphere
[ "$(json release) $(json diameter)" = "sphere " ] || fail "$(cat out.json)"
check "$(json release_variance) > .48270 && $(json release_variance) < .48271"
grep -qF 'The diameter is not used' plan.txt && ! grep -qF "$near" plan.txt ||
    fail "$(cat plan.txt)"
"$pricer" privacy s.pricer --json >out.json || fail "privacy exited $?"
[ "$(json statements[0].diameter)" = "" ] || fail "$(cat out.json)"
plan diameter=0.6
[ "$(json release)" = sphere ] || fail "$(cat out.json)"
plan diameter=2 release=gaussian
[ "$(json release) $(json diameter)" = "gaussian " ] || fail "$(cat out.json)"
check "$(json release_variance) > 9.351287 && $(json release_variance) < 9.351289"

# Nodes of their own: one of three kinds each; several rounds; radii in other units.
printf 'node,p,radius,diameter\n0,.9,,\n1,.8,50,5\n2,.7,,150\n' >nodes.csv
printf 'from,to,p\n1,0,.8\n' >links.csv
cat >one.yaml <<'YAML'
dimension: 3
radius: 100
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {everyone: {eps: 4, delta: 1e-5}}
rounds: 5
YAML
plan
[ "$(json release) $(json diameter)" = "mixed 200" ] || fail "$(cat out.json)"
[ "$(sqlite3 s.pricer 'SELECT group_concat(release) FROM forward_plan_node WHERE plan = 1')" = \
    sphere,gaussian,sphere ] || fail "kinds of releases"
grep -qF "$near its diameter, 5 to 200." plan.txt || fail "$(cat plan.txt)"
"$pricer" audit s.pricer --all --seed 1 --json >out.json || fail "audit exited $?"
[ "$(json audits[0].diameter),$(json audits[1].diameter)" = ",5" ] || fail "$(cat out.json)"
exit $bad
