#!/usr/bin/env bash
# Nodes by their names: where people read of a node they read its name, JSON has
# it beside the number, and nodes without one keep their number. $1: the build
# folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >home.yaml <<'YAML'
dimension: 4
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {eps: 2, delta: 1e-3}
YAML
printf 'node,p,name\n0,0.2,\n1,0.9,kitchen\n2,0.3,roof-2\n' >nodes.csv
printf 'from,to,p\n0,1,0.8\n2,1,0.8\n1,2,0.8\n' >links.csv
"$pricer" new home.pricer home.yaml >/dev/null || fail "new exited $?"

expect 0 "kitchen (1)" "$pricer" plan home.pricer
expect 0 '"name": "kitchen"' "$pricer" plan home.pricer --json
expect 0 "0 to kitchen (1)" "$pricer" plan home.pricer
expect 0 "roof-2 (2) to kitchen (1)" "$pricer" advise home.pricer
expect 0 '"from_name": "roof-2"' "$pricer" advise home.pricer --json
expect 0 "roof-2 (2)" "$pricer" privacy home.pricer --observer link
expect 0 '"at_name": "kitchen"' "$pricer" privacy home.pricer --observer link --json
"$pricer" report home.pricer -o home.html >/dev/null || fail "report exited $?"
grep -q 'node kitchen (1)' home.html || fail "the report does not name the kitchen"
grep -q 'node 0' home.html || fail "the report does not number node 0"

# A folder has the node's name, and everyone is listed by it.
expect 0 "cd fleet/kitchen && pricer-node" "$pricer" fleet home.pricer --to fleet
expect 0 "" test -f fleet/roof-2/node.conf -a -f fleet/node0/node.conf
grep -q 'What node roof-2 (2) lets out' fleet/roof-2/node.trust ||
    fail "the trust file does not name its node"
[ "$(grep -v '^#' fleet/roof-2/node.trust | sed 's/,.*,/ /' | xargs)" = \
    "to name 2 roof-2 1 kitchen" ] || fail "the trust file has other names"
expect 0 "kitchen (1)" "$pricer" enrol home.pricer
expect 0 '"name": "kitchen"' "$pricer" enrol home.pricer --json

# Names of a scenario's own nodes, and what is wrong with them by line.
cat >ring.yaml <<'YAML'
dimension: 2
network:
  {generator: ring, nodes: 3, p: 0.5, uplink: 0.5,
   names: [a, b, c]}
trust: {eps: 1}
YAML
"$pricer" new ring.pricer ring.yaml >/dev/null || fail "new exited $?"
[ "$(sqlite3 ring.pricer 'SELECT group_concat(name) FROM node')" = a,b,c ] ||
    fail "the names are not stored"
sed 's/b, c/b, b/' ring.yaml >bad.yaml
expect 1 "bad.yaml:4: the name b belongs to node 1 already" "$pricer" new bad.pricer bad.yaml
sed 's/, c\]/]/' ring.yaml >bad.yaml
expect 1 "bad.yaml:4: network.names has 2 names for 3 nodes" "$pricer" new bad.pricer bad.yaml
sed 's/\[a, b, c\]/a/' ring.yaml >bad.yaml
expect 1 "bad.yaml:4: network.names: expected a list of names" "$pricer" new bad.pricer bad.yaml

# A name that someone wrote into the study is judged as one from a file.
sqlite3 ring.pricer "UPDATE node SET name = 'a<b' WHERE node = 1"
expect 1 "name = a<b is no name" "$pricer" plan ring.pricer
exit $bad
