#!/usr/bin/env bash
# What people type and paste: mistyped words are recognised, tables of any
# separator are read, percent is asked about, rows with p = 0 are counted, and
# data may be CSV. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# Words.
expect 2 "there is no verb 'plna' (did you mean plan?); --help lists them" "$pricer" plna
expect 2 "there is no verb 'banana'; --help" "$pricer" banana
expect 2 "there is no option --trails=5 (did you mean --trials?); --help explains" \
    "$pricer" simulate x --trails=5
expect 2 "there is no option --xyzzy; --help" "$pricer" simulate x --xyzzy
expect 2 "there is no option --listne (did you mean --listen?)" "$build"/pricer-node --listne x

cat >s.yaml <<'YAML'
dimension: 1
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {eps: 2, delta: 1e-3}
YAML
expect 1 "there is no key trust.sever.eps (did you mean trust.server.eps?)" \
    "$pricer" new s.pricer s.yaml --set trust.sever.eps=1
sed 's/network/newtork/' s.yaml >bad.yaml
expect 1 "bad.yaml:2: there is no key newtork (did you mean network?)" "$pricer" new s.pricer bad.yaml
sed 's/eps: 2/eps: 2, epps: 3/' s.yaml >bad.yaml
expect 1 "bad.yaml:3: there is no key trust.epps (did you mean trust.eps?)" "$pricer" new s.pricer bad.yaml

# Tables: each separator gives the same study.
printf 'node,p,name\n0,0,2nd\n1,0.9,kitchen\n2,0.3,3-west\n' >nodes.csv
printf 'from,to,p\n0,1,0.8\n2,1,0.8\n1,2,0.8\n1,0,0\n' >links.csv
SOURCE_DATE_EPOCH=1 "$pricer" new comma.pricer s.yaml >said || fail "new exited $?"
grep -qF "p = 0: 1 of 4 links given, left out as they are never up" said || fail "$(cat said)"
grep -qF "p = 0: 1 of 3 uplinks; these nodes are heard through relays at most" said || fail "$(cat said)"
expect 0 '"links_left_out": 1' "$pricer" new json.pricer s.yaml --json
expect 0 '"uplinks_at_zero": 1' "$pricer" new --force json.pricer s.yaml --json
for separator in ';' '\t'; do
    sed -i "s/[,;]/$separator/g" nodes.csv links.csv
    SOURCE_DATE_EPOCH=1 "$pricer" new --force other.pricer s.yaml >/dev/null ||
        fail "separator '$separator': new exited $?"
    [ "$(sqlite3 other.pricer 'SELECT * FROM node; SELECT * FROM link')" = \
        "$(sqlite3 comma.pricer 'SELECT * FROM node; SELECT * FROM link')" ] ||
        fail "separator '$separator' gives another network"
done
printf 'node;p\n0;0,5\n' >nodes.csv
expect 1 "nodes.csv:2: p = 0,5 is not a number: write a decimal point" "$pricer" new s.pricer s.yaml
printf 'nodes;p\n0;0.5\n' >nodes.csv
expect 1 "nodes.csv:1: there is no column 'nodes' (did you mean node?); the columns are" \
    "$pricer" new s.pricer s.yaml
printf 'from,to,p\n' >links.csv
printf 'node;p\n0;95\n' >nodes.csv
expect 1 "nodes.csv:2: p = 95 is not a probability (percent? then divide by 100)" \
    "$pricer" new s.pricer s.yaml
expect 1 "network.uplink = 95 is not between 0 and 1 (percent?" \
    "$pricer" new s.pricer "$here"/examples/paper.yaml --set network.uplink=95

# Names that begin with a digit are shown as names; numbers alone are no names.
expect 0 "3-west (2) to kitchen (1)" "$pricer" plan comma.pricer
printf 'node,p,name\n0,0.5,12\n' >nodes.csv
expect 1 "nodes.csv:2: name = 12 is no name" "$pricer" new s.pricer s.yaml
expect 0 "" "$pricer" plans comma.pricer --name 1=2nd-try
expect 0 "2nd-try" "$pricer" plans comma.pricer
expect 1 "'7' is no name" "$pricer" plans comma.pricer --name 1=7

# Data: CSV gives the numbers of .npy, to the last bit.
/usr/bin/python3 - <<'PYTHON'
import numpy
data = numpy.array([[0.1], [1 / 3], [-0.25]])
numpy.save("data.npy", data)
numpy.savetxt("data.csv", data, header="x", comments="")
numpy.savetxt("short.csv", data[:2])
PYTHON
for kind in npy csv; do
    "$pricer" simulate comma.pricer --data data.$kind --trials 500 --json |
        grep -v '"seconds"\|"trials_per_second"' >"$kind.json"
done
[ -s csv.json ] && cmp csv.json npy.json || fail "CSV and .npy give other results"
expect 1 "2" "$pricer" simulate comma.pricer --data short.csv
printf '0.1\nmuch\n0.2\n' >bad.csv
expect 1 "bad.csv:2: 'much' is not a number" "$pricer" simulate comma.pricer --data bad.csv
exit $bad
