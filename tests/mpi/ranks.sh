#!/usr/bin/env bash
# pricer-mpi as a user runs it: the same results bit for bit for any number of
# ranks and threads, and what becomes of a job that is stopped, killed or fails.
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
export SOURCE_DATE_EPOCH=1700000000 OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks N ARGUMENT...: pricer-mpi on N ranks of this machine.
ranks() {
    local count=$1
    shift
    timeout -k 5 120 mpirun --oversubscribe -n "$count" "$build"/pricer-mpi "$@"
}

# pid_of RANK: the process of a rank of the job that runs here.
pid_of() {
    local pid
    for pid in $(pgrep -f "^$build/pricer-mpi .*$folder"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid" && return
    done
}

# gone: no process of the job is left after a moment.
gone() {
    for _ in $(seq 50); do
        pgrep -f "^$build/pricer-mpi .*$folder" >/dev/null || return 0
        sleep 0.1
    done
    fail "$1: processes are left"
    pgrep -af "^$build/pricer-mpi .*$folder"
}

"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
expect 2 "not a verb that ranks share" ranks 2 show ten.pricer
expect 1 "no plan yet" ranks 2 simulate ten.pricer
"$pricer" plan ten.pricer >/dev/null || fail "no plan"

# Simulations: what is printed, and what is stored.
simulate() { # OUT COMMAND...
    local out=$1
    shift
    cp ten.pricer copy.pricer
    "$@" copy.pricer --json >"$out.json" || fail "$*"
    sed -i /seconds/d "$out.json"
    sqlite3 copy.pricer .dump >"$out.sql"
}
same() { # RANKS THREADS OPTION...: what they print and store is the same
    local count=$1 threads=$2
    shift 2
    simulate many ranks "$count" simulate "$@" --threads "$threads"
    cmp alone.json many.json ||
        fail "$*: $count ranks, $threads threads print otherwise"
    cmp alone.sql many.sql ||
        fail "$*: $count ranks, $threads threads store otherwise"
}
fast=(--trials 60000 --data random --strategy naive)
simulate alone "$pricer" simulate "${fast[@]}"
for count in 1 2 3 4; do
    for threads in 1 2; do
        same $count $threads "${fast[@]}"
    done
done
faithful=(--trials 100 --engine faithful --decoder adaptive)
simulate alone "$pricer" simulate "${faithful[@]}"
same 3 2 "${faithful[@]}"

# Sweeps: the same folder, a cell that fails among them.
cat >three.yaml <<END
dimension: 4
network: {generator: erdos-renyi, nodes: 3, uplink: [0.2, 0.9, 0.5], p: 0.7}
trust: {eps: 10}
END
grid=(three.yaml --vary network.p=0.2,0.9 --vary dimension=4,8 --vary repeat=1,2
    --set network.reciprocity=1 --trials 60 --engine faithful --decoder adaptive)
"$pricer" sweep "${grid[@]}" --to alone >/dev/null 2>&1 || fail "sweep"
grep -q "leave repeat out" alone/sweep.csv || fail "no cell of the sweep fails"
for count in 1 2 3 4; do
    for threads in 1 2; do
        ranks $count sweep "${grid[@]}" --threads $threads --to many --force \
            >out.txt 2>err.txt || fail "sweep: $(cat err.txt)"
        diff -r alone many || fail "sweep: $count ranks, $threads threads"
    done
done
expect 1 "holds another sweep" ranks 2 sweep "${grid[@]}" --trials 10 --to many

# Points divided among ranks that each read a slice, more ranks than chunks of
# rows too; .npy as well as IDX.
images=$here/data/fashion-mnist-1000-images-idx3-ubyte.gz
python3 - "$images" <<'PYTHON'
import gzip, struct, sys
data = gzip.open(sys.argv[1]).read()[16:]
rows = [data[784 * r:784 * r + 784:7] for r in range(1000)]
text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 112), }"
text += " " * (63 - (10 + len(text)) % 64) + "\n"
open("points.npy", "wb").write(
    b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    + b"".join(struct.pack("<112f", *row) for row in rows))
PYTHON
"$pricer" new wide.pricer "$here"/examples/paper.yaml --set network.nodes=40 \
    --set network.uplink=0.5 >/dev/null || fail "no study of 40 nodes"
while read -r counts options; do
    # shellcheck disable=SC2086
    "$pricer" kmeans $options --seeds 1 --rounds 2 --json --centres alone.npy \
        >alone.json || fail "kmeans $options"
    for count in ${counts//,/ }; do
        # shellcheck disable=SC2086
        ranks $count kmeans $options --seeds 1 --rounds 2 --json --threads 1 \
            --centres many.npy >many.json </dev/null || fail "kmeans $options"
        cmp alone.json many.json || fail "kmeans $options: $count ranks print"
        cmp alone.npy many.npy || fail "kmeans $options: $count ranks write"
    done
done <<LIST
2,5 ten.pricer --data points.npy --decoder constant
3 ten.pricer --data points.npy --procedure paper --links-per centroid
4 wide.pricer --data $images --strategy none-best --unit-norm
LIST
python3 - <<'PYTHON'
data = bytearray(open("points.npy", "rb").read())
data[-4:] = b"\x00\x00\xc0\x7f"
open("bad.npy", "wb").write(data)
PYTHON
expect 1 "bad.npy: row 999, column 111 (from 0) is nan" \
    ranks 3 kmeans ten.pricer --data bad.npy

# The paper's table of K-means, its runs handed out.
reproduce=(reproduce table2 --seeds 2 --sample points.npy --no-plots)
"$pricer" "${reproduce[@]}" --to paper >alone.txt || fail "reproduce"
ranks 3 "${reproduce[@]}" --to ranks >many.txt || fail "reproduce over ranks"
cmp alone.txt many.txt && diff -r paper ranks || fail "reproduce: 3 ranks"

# A rank that cannot go on ends the job, with its reason.
cp ten.pricer lost.pricer
cat >only_zero.sh <<'SH'
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || cd /
exec "$@"
SH
expect 1 "rank 1 on" timeout -k 5 60 mpirun --oversubscribe -n 2 \
    bash only_zero.sh "$build"/pricer-mpi simulate lost.pricer --trials 100000
gone "a rank without the study"

# Ctrl-C: the trials so far are stored.
stop() { # SIGNAL
    cp ten.pricer stop.pricer
    ranks 2 simulate "$folder"/stop.pricer --trials 1000000000 \
        >out.txt 2>err.txt &
    local job=$!
    for _ in $(seq 100); do
        [ -n "$(pid_of 1)" ] && break
        sleep 0.1
    done
    sleep 1
}
stop
kill -INT "$(pgrep -f "^mpirun .*$folder/stop.pricer")"
wait
grep -q "stopped after" err.txt || fail "Ctrl-C: $(cat err.txt)"
gone "Ctrl-C"
[ "$(sqlite3 stop.pricer 'PRAGMA integrity_check')" = ok ] || fail "Ctrl-C: study"
[ "$(sqlite3 stop.pricer 'SELECT count(*) FROM simulation')" = 1 ] ||
    fail "Ctrl-C: nothing is stored: $(cat out.txt err.txt)"

# Sweeps that are killed go on with all that was finished, in their order or
# not; a full disk too.
slow=("$here"/examples/paper.yaml --vary network.p=0.1,0.3,0.5,0.7,0.9
    --vary dimension=4,8 --trials 600000 --decoder constant)
"$pricer" sweep "${slow[@]}" --to whole >/dev/null 2>&1 || fail "sweep"
for rank in 1 0; do
    rm -rf "$folder"/killed
    ranks 2 sweep "${slow[@]}" --threads 1 --to "$folder"/killed >out.txt 2>err.txt &
    for _ in $(seq 1000); do
        victim=$(pid_of $rank)
        [ -n "$victim" ] && break
    done
    for _ in $(seq 1000); do
        cat killed/sweep.csv killed/sweep.ahead 2>/dev/null | grep -q ,ok, && break
        sleep 0.01
    done
    kill -KILL "$victim"
    wait
    gone "sweep, rank $rank killed"
    kept=$(cat killed/sweep.csv killed/sweep.ahead 2>/dev/null | grep -c ,ok,)
    [ "$kept" -ge 1 ] && [ "$kept" -lt 10 ] || fail "sweep: $kept rows are kept"
    cp -r killed again
    "$pricer" sweep "${slow[@]}" --to again >/dev/null 2>&1 || fail "sweep goes on"
    rm -r killed
    diff -r whole again || fail "sweep: killed rank $rank, then finished"
    rm -r again
done

# A full disk: what was finished is kept.
full=("$here"/examples/paper.yaml --vary network.p=0.1,0.3,0.5,0.7,0.9
    --vary trust.eps=1,2,4,8 --trials 200 --decoder constant)
mkdir small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
    head -c 7000 /dev/zero >small/ballast
    expect 1 "goes on from there" ranks 2 sweep "${full[@]}" --to small
    rm small/ballast
    mount -o remount,size=1m small
    ranks 2 sweep "${full[@]}" --to small >/dev/null 2>&1 || fail "room again"
    "$pricer" sweep "${full[@]}" --to roomy >/dev/null 2>&1 || fail "sweep"
    diff -r roomy small || fail "a full disk, then room again"
    umount small
fi

# A rank that is killed, and rank 0: a clear line, no process left, the study
# whole.
for rank in 1 0; do
    stop
    kill -KILL "$(pid_of $rank)"
    wait
    grep -q "rank $rank .*signal 9 (Killed)" <(tr '\n' ' ' <err.txt) ||
        fail "rank $rank killed: $(cat err.txt)"
    gone "rank $rank killed"
    [ "$(sqlite3 stop.pricer 'PRAGMA integrity_check')" = ok ] ||
        fail "rank $rank killed: study"
done

exit $bad
