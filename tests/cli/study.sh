#!/usr/bin/env bash
# pricer new, show and export as a user runs them: what they print, what they
# refuse, and that a failure leaves nothing behind. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# The verbs and their help.
expect 2 "usage: pricer VERB" "$pricer"
expect 0 "usage: pricer VERB" "$pricer" --help
expect 0 "pricer 0." "$pricer" --version
expect 2 "there is no verb 'nwe'" "$pricer" nwe
for verb in $("$pricer" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    expect 0 "example:" "$pricer" "$verb" --help
    expect 2 "there is no option --nonsense" "$pricer" "$verb" --nonsense
done
expect 2 "an operand is missing" "$pricer" new only-one
expect 2 "one operand too many" "$pricer" show a b
expect 2 "a value is missing after --to" "$pricer" export a --to
expect 2 "takes no value" "$pricer" show --json=1 a

# Every example is a study.
for scenario in "$here"/examples/*.yaml "$here"/examples/*/*.yaml; do
    name=$(basename "$scenario" .yaml).pricer
    expect 0 "nodes" "$pricer" new "$name" "$scenario"
    [ "$(sqlite3 "$name" 'PRAGMA integrity_check')" = ok ] ||
        fail "$name is damaged"
    [ -z "$(sqlite3 "$name" 'PRAGMA foreign_key_check')" ] ||
        fail "$name has dangling references"
done

# Made twice, equal table by table.
"$pricer" new one.pricer "$here"/examples/geometric.yaml >/dev/null
"$pricer" new two.pricer "$here"/examples/geometric.yaml >/dev/null
[ "$(sqlite3 one.pricer .dump)" = "$(sqlite3 two.pricer .dump)" ] ||
    fail "two studies of one scenario differ"
"$pricer" new three.pricer "$here"/examples/geometric.yaml --set seed=2 >/dev/null
[ "$(sqlite3 one.pricer .dump)" != "$(sqlite3 three.pricer .dump)" ] ||
    fail "another seed gives the same study"

# Nothing is overwritten unless asked.
expect 1 "paper.pricer: exists already" "$pricer" new paper.pricer "$here"/examples/paper.yaml
expect 0 "10 nodes, 90 links" "$pricer" new paper.pricer --force "$here"/examples/paper.yaml
echo 'letters to my mother' >letters
expect 1 "not a study, so it is not replaced" "$pricer" new letters --force "$here"/examples/paper.yaml
grep -q mother letters || fail "a file that is no study was replaced"

# Bad scenarios: the message has file and line, and no file appears.
mkdir bad
refuse_scenario() { # words, text
    printf '%b' "$2" >bad/s.yaml
    expect 1 "$1" "$pricer" new bad/x.pricer bad/s.yaml
    [ "$(ls bad | wc -l)" -eq "$files" ] || fail "something was left: $(ls bad)"
}
files=1
refuse_scenario "bad/s.yaml:2: there is no key networks" 'dimension: 3\nnetworks: 3\n'
refuse_scenario "bad/s.yaml: the file is empty" ''
refuse_scenario "bad/s.yaml:2: not YAML" 'a: [\n'
refuse_scenario "not a text file" 'dimension: 3\n\0'

# Networks from files: each mistake of the two tables.
net='dimension: 3\nnetwork: {files: {nodes: n.csv, links: l.csv}}\ntrust: {eps: 1}\n'
files=3
refuse_links() { # words, links, [nodes]
    printf '%b' "$2" >bad/l.csv
    printf '%b' "${3-node,p\n0,.5\n1,.5\n}" >bad/n.csv
    refuse_scenario "$1" "$net"
}
refuse_links "bad/l.csv:3: p = 1.3 is not a probability" 'from,to,p\n0,1,.5\n1,0,1.3\n'
refuse_links "bad/l.csv:2: there is no node 7" 'from,to,p\n0,7,.5\n'
refuse_links "bad/l.csv:3: " 'from,to,p\n0,1,.5\n0,1,.5\n'
refuse_links "second time" 'from,to,p\n0,1,.5\n0,1,.5\n'
refuse_links "bad/l.csv:2: " 'from,to,p\n0,1,x\n'
refuse_links "bad/l.csv:2: " 'from,to,p\n0,1,nan\n'
refuse_links "bad/l.csv:2: eps = -1" 'from,to,p,eps\n0,1,.5,-1\n'
refuse_links "bad/l.csv:2: delta = 2" 'from,to,p,delta\n0,1,.5,2\n'
refuse_links "bad/l.csv:2: joint = 0.1" 'from,to,p,joint\n0,1,.5,.1\n1,0,.5,.1\n'
refuse_links "bad/l.csv:1: " 'from,p\n0,.5\n'
refuse_links "bad/l.csv:1: " 'from,to,p,colour\n0,1,.5,red\n'
refuse_links "bad/l.csv" ''
refuse_links "bad/n.csv:3: p = 2 is not a probability" 'from,to,p\n' 'node,p\n0,.5\n1,2\n'
refuse_links "bad/n.csv" 'from,to,p\n' ''
net='dimension: 3\nnetwork: {files: {nodes: n.csv, links: l.csv}}\n'
refuse_links "bad/l.csv:2: eps is missing" 'from,to,p\n0,1,.5\n'
net='dimension: 3\nnetwork: {files: {nodes: none.csv, links: l.csv}}\ntrust: {eps: 1}\n'
refuse_links "bad/none.csv: No such file or directory" 'from,to,p\n'
net='dimension: 3\nnetwork: {files: {nodes: /, links: l.csv}}\ntrust: {eps: 1}\n'
refuse_links "Is a directory" 'from,to,p\n'
rm -r bad
expect 1 "No such file or directory" "$pricer" new x.pricer none.yaml
expect 1 "/nowhere/x.pricer: No such file or directory" "$pricer" new /nowhere/x.pricer "$here"/examples/paper.yaml

# show and its mistakes.
expect 0 '"nodes": 10' "$pricer" new json.pricer --json "$here"/examples/paper.yaml
"$pricer" show --json paper.pricer | python3 -c '
import json, sys
study = json.load(sys.stdin)
assert study["settings"]["dimension"] == 128, study
assert study["rows"]["link"] == 90, study' || fail "show --json"
"$pricer" show --scenario paper.pricer | cmp -s - "$here"/examples/paper.yaml ||
    fail "show --scenario differs from the scenario"
expect 1 "none.pricer: No such file" "$pricer" show none.pricer
echo hello >words
expect 1 "words: not a study" "$pricer" show words
: >empty
expect 1 "empty: not a study: the file is empty" "$pricer" show empty
sqlite3 json.pricer 'PRAGMA user_version = 99'
expect 1 "made by a newer pricer" "$pricer" show json.pricer
head -c 5000 one.pricer >cut.pricer
expect 1 "cut.pricer: " "$pricer" export cut.pricer --to out-cut

# export: CSV equals the tables, .npy equals the CSV.
expect 0 "" "$pricer" export paper.pricer --to out
for table in setting node link; do
    sqlite3 -csv -header paper.pricer "SELECT * FROM $table" | wc -l >a
    wc -l <out/$table.csv >b
    cmp -s a b || fail "$table.csv has $(cat b) lines, expected $(cat a)"
done
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 -c '
import numpy
a = numpy.load("out/link.npy")
b = numpy.genfromtxt("out/link.csv", delimiter=",", names=True)
assert a.shape == (90, 7) and a.dtype == "float64", a.shape
assert (a[:, 3] == b["p"]).all()' || fail "link.npy differs from link.csv"
else
    echo "skipped: export against numpy (python3-numpy is not installed)"
fi
expect 2 "--to DIR is missing" "$pricer" export paper.pricer
expect 1 "/proc/none: " "$pricer" export paper.pricer --to /proc/none

# A full disk behind stdout is a failure, not a success.
[ ! -w /dev/full ] || expect 1 "cannot write" bash -c "'$pricer' show paper.pricer >/dev/full"
exit $bad
