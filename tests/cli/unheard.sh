#!/usr/bin/env bash
# Nodes that can never be heard: named by new, first by plan, and in the report, with a
# count where they are many; and a network in which nobody can be heard is refused. $1:
# the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >mesh.yaml <<'YAML'
dimension: 4
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {eps: 2, delta: 1e-3, self: {eps: 2}}
YAML

# gate has an uplink. hall is heard through it. attic only reaches hall, which has no
# uplink; shed's link to gate never works; pond has no link at all.
printf 'node,p,name\n0,0.9,gate\n1,0,hall\n2,0,attic\n3,0,shed\n4,0,pond\n' >nodes.csv
printf 'from,to,p\n1,0,0.8\n2,1,0.9\n3,0,0\n0,4,0.9\n' >links.csv
words="NEVER HEARD: 3 of 5 nodes"
names="attic (2), shed (3), pond (4)."
"$pricer" new mesh.pricer mesh.yaml >new.txt || fail "new exited $?"
grep -q "^$words" new.txt && grep -qF "$names" new.txt || fail "new: $(cat new.txt)"
"$pricer" plan mesh.pricer >plan.txt || fail "plan exited $?"
sed -n 3p plan.txt | grep -q "^$words" && grep -qF "$names" plan.txt ||
    fail "plan: $(cat plan.txt)"
"$pricer" report mesh.pricer -o mesh.html >/dev/null || fail "report exited $?"
grep -qF "$words" mesh.html && grep -qF "$names" mesh.html || fail "the report names nobody"
for verb in "new again.pricer mesh.yaml" "plan mesh.pricer"; do
    # shellcheck disable=SC2086
    "$pricer" $verb --json >out.json || fail "$verb exited $?"
    [ "$(sqlite3 :memory: "SELECT readfile('out.json')->>'unheard'")" = '[2,3,4]' ] ||
        fail "$verb --json: $(cat out.json)"
done

# Where all are heard nothing is said.
"$pricer" new ten.pricer "$here"/examples/paper.yaml >new.txt
"$pricer" plan ten.pricer >>new.txt
"$pricer" report ten.pricer -o ten.html >/dev/null
! grep -q "NEVER HEARD" new.txt ten.html || fail "somebody of the paper is not heard"

# Many: the first eight and a number, in lines that fit.
{
    echo node,p
    echo 0,0.5
    for k in $(seq 1 120); do echo "$k,0"; done
} >nodes.csv
echo from,to,p >links.csv
"$pricer" new many.pricer mesh.yaml >new.txt || fail "new exited $?"
grep -q "8 and 112 more\.$" new.txt && grep -q "120 of 121 nodes" new.txt ||
    fail "many: $(cat new.txt)"
awk 'length > 100 { wide = 1 } END { exit wide }' new.txt || fail "too wide: $(cat new.txt)"

# Nobody: refused, and nothing is made.
printf 'node,p\n0,0\n1,0\n' >nodes.csv
printf 'from,to,p\n0,1,1\n1,0,1\n' >links.csv
expect 1 "mesh.yaml: no node can be heard: the uplink of every node has p = 0" \
    "$pricer" new none.pricer mesh.yaml
[ ! -e none.pricer ] || fail "a study in which nobody can be heard"
exit $bad
