#!/usr/bin/env bash
# pricer keygen, enrol and demo, and the two daemons, as a user runs them: what
# they print and what they refuse. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# Keys: the secret is its owner's, and nothing is overwritten.
key=$("$pricer" keygen a.key) || fail keygen
[ ${#key} -eq 40 ] || fail "a key of ${#key} characters"
[ "$(stat -c %a a.key)" = 600 ] || fail "a secret with mode $(stat -c %a a.key)"
[ "$(cat a.key.pub)" = "public $key" ] || fail "a.key.pub"
expect 1 "exists already" "$pricer" keygen a.key
expect 1 "No such file" "$pricer" keygen nowhere/a.key
expect 0 '"public": "' "$pricer" keygen b.key --json
expect 2 "an operand is missing" "$pricer" keygen

# Enrolment.
"$pricer" new s.pricer "$here/examples/paper.yaml" >/dev/null || fail new
expect 0 "" "$pricer" enrol s.pricer 3 a.key.pub tcp://10.0.0.3:7100
expect 0 "" "$pricer" enrol s.pricer server b.key tcp://10.0.0.1:7100
expect 0 "$key" "$pricer" enrol s.pricer
expect 0 '"node": "server"' "$pricer" enrol s.pricer --json
expect 1 "belongs to another member" "$pricer" enrol s.pricer 4 "$key" tcp://h:1
expect 1 "there is no node 10" "$pricer" enrol s.pricer 10 "$key" tcp://h:1
expect 1 "is not an address" "$pricer" enrol s.pricer 3 "$key" 10.0.0.3
expect 1 "holds no public key" "$pricer" enrol s.pricer 3 s.pricer tcp://h:1
expect 1 "neither a node's number" "$pricer" enrol s.pricer x "$key" tcp://h:1
expect 2 "belong to NODE" "$pricer" enrol s.pricer 3
expect 0 "" "$pricer" enrol s.pricer 4 "$("$pricer" keygen c.key)" tcp://[::1]:1
expect 0 "" "$pricer" enrol s.pricer 4 --remove
expect 1 "node 4 is not enrolled" "$pricer" enrol s.pricer 4 --remove
expect 2 "takes NODE and no more" "$pricer" enrol s.pricer --remove

# The daemons say what is missing or wrong.
for daemon in pricer-server pricer-node; do
    expect 0 "$daemon $("$pricer" --version | cut -d' ' -f2)" "$build/$daemon" --version
done
expect 2 "STUDY is missing" "$build/pricer-server"
expect 2 "--key is missing" "$build/pricer-server" s.pricer
expect 2 "must ascend" "$build/pricer-server" s.pricer --key b.key --send 9999
expect 1 "not enrolled as the server" "$build/pricer-server" s.pricer --key a.key
expect 1 "no plan yet" "$build/pricer-server" s.pricer --key b.key
expect 2 "--ledger is missing" "$build/pricer-node"
expect 2 "--node is missing" "$build/pricer-node" --ledger x
expect 1 "No such file" "$build/pricer-node" --ledger x --ledger-show
expect 2 "there is no option --nonsense" "$build/pricer-node" --nonsense
chmod 644 a.key
node=("$build/pricer-node" --node 3 --key a.key --server tcp://127.0.0.1:1
    --server-key "$key" --listen 'tcp://127.0.0.1:*' --data x.npy --ledger l)
echo "to,eps,delta" >t.csv
expect 1 "others may read this secret" "${node[@]}" --trust t.csv
chmod 600 a.key
echo "3,-1,2" >>t.csv
expect 1 "t.csv:2: eps must be positive" "${node[@]}" --trust t.csv
printf 'node 3\n# a comment\nkey = a.key\nledger l\n' >node.conf
expect 2 "--server is missing" "$build/pricer-node" --config node.conf
expect 1 "none.conf: No such file" "$build/pricer-node" --config none.conf

# The demo: three ways to the same error.
expect 0 '"same_rounds_agree": true' "$pricer" demo --rounds 20 --json --keep kept
[ "$(sqlite3 kept/demo.pricer 'SELECT count(*) FROM round')" = 20 ] ||
    fail "20 rounds are not in the study"
expect 0 '"releases": 20' "$build/pricer-node" --ledger kept/0.ledger \
    --ledger-show --json

# Also where the kernel does not say where a program is, by its path or by PATH.
bare() {
    unshare --mount ${root:+--user --map-root-user} sh -c \
        'mount -t tmpfs none /proc && cd "$0" && exec "$@"' "$folder" "$@"
}
root=$([ "$(id -u)" = 0 ] || echo no)
if grep -q __asan_init "$pricer"; then
    echo "skipped: sanitizers do not work without /proc"
elif bare true 2>/dev/null; then
    expect 0 '"rounds": 3' bare "$pricer" demo --rounds 3 --json
    expect 0 '"rounds": 3' bare env PATH="$build:$PATH" pricer demo --rounds 3 --json
    cp "$pricer" lonely
    expect 1 "is neither beside pricer nor in PATH" bare ./lonely demo --rounds 3
else
    echo "skipped: a demo without /proc needs namespaces"
fi

# Twice on one study, whose own members stay: other rounds, the simulator's too.
"$pricer" plan s.pricer >/dev/null || fail plan
before=$(sqlite3 s.pricer 'SELECT * FROM member')
expect 0 '"same_rounds_agree": true' "$pricer" demo s.pricer --rounds 15 --json
expect 0 '"same_rounds_agree": true' "$pricer" demo s.pricer --rounds 15 \
    --decoder constant --json
[ "$(sqlite3 s.pricer 'SELECT decoder, count(bar) > 10 FROM round GROUP BY
    decoder ORDER BY decoder' | xargs)" = "constant|1 minimax|1" ] ||
    fail "the decoder is not the plan's, or not the one asked for"
[ "$(sqlite3 s.pricer 'SELECT count(*), max(round) FROM round')" = "30|30" ] ||
    fail "two demos did not leave 30 rounds"
[ "$(sqlite3 s.pricer 'SELECT count(DISTINCT estimate) FROM round')" = 30 ] ||
    fail "the second demo drew the same as the first"
[ "$(sqlite3 s.pricer 'SELECT * FROM member')" = "$before" ] ||
    fail "a demo changed who is enrolled"

# Broken off, however: the study is as it was, and no key is left.
sum=$(sqlite3 s.pricer .dump | sha256sum)
mkdir temporary
for how in HUP INT TERM; do
    # A shell starts what is in the background with SIGINT ignored.
    TMPDIR=$PWD/temporary python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$pricer" demo s.pricer --rounds 100000 \
        >/dev/null 2>&1 &
    job=$!
    for _ in $(seq 100); do
        keys=$(find temporary -name '*.key' | wc -l)
        [ "$keys" -gt 10 ] && break
        sleep 0.1
    done
    sleep 0.5
    kill -$how $job
    wait $job && fail "a demo ended by SIG$how says that it is done"
    [ -z "$(ls temporary)" ] || fail "SIG$how left $(find temporary)"
    [ "$(sqlite3 s.pricer .dump | sha256sum)" = "$sum" ] ||
        fail "SIG$how changed the study"
done

# A node that has nothing to send, and whom nobody hears: rounds do not wait for it to
# have, and are the simulator's.
printf '%s\n' node,p 0,0.9 1,0.5 2,0 3,0 >nodes.csv
printf '%s\n' from,to,p 0,1,0.8 1,0,0.8 2,0,0.7 3,1,0 2,3,0.9 >links.csv
printf '%s\n' 'dimension: 4' 'network: {files: {nodes: nodes.csv, links: links.csv}}' \
    'trust: {eps: 3, delta: 1e-5, self: {eps: 3}}' >mute.yaml
"$pricer" new mute.pricer mute.yaml >/dev/null || fail new
"$pricer" plan mute.pricer >/dev/null || fail plan
expect 0 '"same_rounds_agree": true' "$pricer" demo mute.pricer --rounds 5 --json

# A fleet that stands still says what it waits for, and ends with a sentence.
"$pricer" demo mute.pricer --rounds 100000 --timeout 8 --keep stuck >stuck.txt 2>&1 &
job=$!
node=
while [ -z "$node" ] && kill -0 $job; do
    node=$(grep -lzx -- '--key=stuck/1.key' /proc/[0-9]*/cmdline 2>/dev/null)
done
kill -STOP "$(cut -d/ -f3 <<<"$node")"
wait $job && fail "a demo that stands still is done"
grep -q "warning: no round has ended for .* s; the server's log ends with: ." stuck.txt &&
    grep -q "^pricer: no round has ended for .* of 100000 are done .*--timeout" stuck.txt ||
    fail "a demo that stands still says: $(cat stuck.txt)"

# As many nodes as fit: 207 of them, with fewer open files allowed than that at first;
# and what does not fit says how many would.
printf '%s\n' 'dimension: 2' 'network: {generator: ring, nodes: 207, uplink: 0.9, p: 0.9}' \
    'trust: {eps: 3, delta: 1e-5, self: {eps: 3}}' >large.yaml
"$pricer" new large.pricer large.yaml >/dev/null || fail new
"$pricer" plan large.pricer --decoder constant >/dev/null || fail plan
(
    ulimit -S -n 100
    expect 0 '"nodes": 207' "$pricer" demo large.pricer --rounds 2 --json
    ulimit -H -n 100
    expect 1 "the limit is 100 ('ulimit -Hn'): at most 36 nodes fit" "$pricer" demo large.pricer
    exit "$bad"
) || bad=1
"$pricer" new huge.pricer "$here/examples/paper.yaml" --set dimension=100000000000 >/dev/null ||
    fail new
"$pricer" plan huge.pricer --decoder constant >/dev/null || fail plan
expect 1 "GB are available: about 0 nodes fit" "$pricer" demo huge.pricer

# Planning anew with what the rounds measured.
"$pricer" new none.pricer "$here/examples/paper.yaml" >/dev/null || fail new
expect 1 "nothing to measure" "$pricer" plan none.pricer --from-deliveries
expect 0 '"objective"' "$pricer" plan kept/demo.pricer --from-deliveries --json
[ "$(sqlite3 kept/demo.pricer 'SELECT count(*), count(DISTINCT objective)
    FROM plan')" = "2|2" ] || fail "the measured plan is not another"
[ "$(sqlite3 kept/demo.pricer 'SELECT count(*) FROM decoder
    WHERE upper < constant')" = 2 ] || fail "a plan without a decoder"
exit $bad
