#!/usr/bin/env bash
# Radii and diameters of single nodes through the programs: planned, accounted,
# attacked and run by real processes, and refused in words where they cannot be
# counted with. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >home.yaml <<'YAML'
dimension: 8
radius: 1
diameter: 0.5
rounds: 4
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {eps: 2, delta: 1e-3, self: {eps: 4}, server: {eps: 6, delta: 1e-3}}
YAML
printf 'node,p,name,radius,diameter\n0,0.5,attic,,\n1,0.9,kitchen,0.5,\n2,0.6,roof,0.2,0.1\n3,0.8,,0.8,1.6\n' >nodes.csv
printf 'from,to,p\n0,1,0.8\n1,0,0.8\n2,1,0.8\n1,2,0.7\n3,1,0.9\n2,3,0.6\n0,3,0.9\n' >links.csv
"$pricer" new home.pricer home.yaml >/dev/null || fail "new exited $?"
[ "$(sqlite3 home.pricer "SELECT group_concat(radius || '/' || diameter) FROM node")" = 1.0/0.5,0.5/0.5,0.2/0.1,0.8/1.6 ] ||
    fail "the study holds other radii"
expect 0 "all 11 links and uplinks keep their (eps, delta)" "$pricer" plan home.pricer
expect 0 "all 4 nodes with a budget towards the server keep it" "$pricer" plan home.pricer
expect 0 "R = 0.625: the mean of the nodes' radii" "$pricer" plan home.pricer
# Of which R^2 an error is a share of: of the same one wherever it stands.
share=$("$pricer" plan home.pricer |
    sed -n 's|^this plan, every sum counting 1/n *[^ ]* *\([0-9.]* %\).*|\1|p')
for verb in show plans; do
    [ "$("$pricer" $verb home.pricer | grep -c "worst-case, 4 rounds .* $share ")" = \
        "$(sqlite3 home.pricer 'SELECT count(*) FROM plan')" ] ||
        fail "$verb has another share of R^2 than $share"
done
expect 0 "B: this plan's decoder, at most" "$pricer" plan home.pricer --decoder minimax
# Data along one line, each as long as its radius: what the decoder's bracket
# and its bars say is what is measured, to five standard errors of 0.0003.
"$pricer" simulate home.pricer --trials 40000 >/dev/null || fail "simulate exited $?"
seen=$(sqlite3 home.pricer "SELECT mse, bar, upper FROM simulation_strategy, decoder WHERE strategy = 'plan' ORDER BY plan DESC LIMIT 1")
awk -F'|' '{ exit !(($1 - $3) ^ 2 < .0015 ^ 2 && ($2 - $3) ^ 2 < .0015 ^ 2) }' <<<"$seen" ||
    fail "the decoder's errors are not those of its rounds: $seen"
expect 0 "no further apart than its diameter, 0.1 to 1.6." "$pricer" plan home.pricer
expect 0 "no further apart than its diameter, 0.1 to 1.6." "$pricer" privacy home.pricer --observer server
expect 0 '"diameter": 0.1' "$pricer" privacy home.pricer --observer link --json
expect 0 "no further apart than its diameter, 0.1 to 1.6." "$pricer" audit home.pricer --observer link --node 0 --trials 1000
expect 0 "No claim is contradicted" "$pricer" audit home.pricer --observer link --node 2 --trials 4000

# The fleet keeps every budget for its four rounds, with a vector of each node's
# own length, and does what the simulator does.
expect 0 "the fleet's rounds are the simulator's" "$pricer" demo home.pricer --rounds 4 --keep kept
grep -qs refuse kept/[0-9].log && fail "a node refused: $(grep -h refuse kept/[0-9].log | head -3)"

# The folders of a fleet repeat the word of who owns the data.
"$pricer" fleet home.pricer --to fleet >/dev/null || fail "fleet exited $?"
grep -q '^diameter *0.10000000000000001$' fleet/roof/node.conf || fail "roof has no diameter"
grep -q '^diameter' fleet/node3/node.conf && fail "node 3 has a diameter that says nothing"
grep -q 'of length 0.2 at most' fleet/roof/node.conf || fail "roof has another radius"

# Without a diameter the same budgets need the noise of the whole ball: nothing
# is gained, and nothing else changes.
sed '/^diameter/d' home.yaml >wide.yaml
sed -i 's/,0.1$/,/; s/,1.6$/,/' nodes.csv
"$pricer" new wide.pricer wide.yaml >/dev/null || fail "new exited $?"
"$pricer" plan home.pricer --json >near.json
"$pricer" plan wide.pricer --json >wide.json
[ "$(sqlite3 :memory: "SELECT readfile('wide.json')->>'$.mse_worst_case' > 1.1 * (readfile('near.json')->>'$.mse_worst_case')")" = 1 ] ||
    fail "a diameter gains nothing"

sed 's/^diameter.*/diameter: 2.5/' home.yaml >bad.yaml
expect 1 "bad.yaml:3: diameter = 2.5 is above 2, twice the radius" "$pricer" new bad.pricer bad.yaml
exit $bad
