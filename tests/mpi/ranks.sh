#!/usr/bin/env bash
# pricer-mpi as a user runs it: the same results bit for bit for any number of
# ranks and threads, and what becomes of a job that is stopped, killed or fails.
# $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/mpi/job.sh
. "$here"/tests/mpi/job.sh

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
fast=(--trials 600000 --data random --strategy naive)
simulate alone "$pricer" simulate "${fast[@]}"
for count in 1 2 3 4; do
    for threads in 1 2; do
        same $count $threads "${fast[@]}"
    done
done
faithful=(--trials 100 --engine faithful --decoder adaptive)
simulate alone "$pricer" simulate "${faithful[@]}"
same 3 2 "${faithful[@]}"

# The same with 'scheme: forward'.
cp ten.pricer sums.pricer
cat >forward.yaml <<END
dimension: 3
network: {generator: geometric, nodes: 30, uplink: 0.2}
trust: {everyone: {eps: 4}}
hops: 2
END
"$pricer" new ten.pricer forward.yaml --force >/dev/null &&
    "$pricer" plan ten.pricer >/dev/null || fail "no plan of forwarding"
forward=(--trials 300000 --data random)
simulate alone "$pricer" simulate "${forward[@]}"
same 2 2 "${forward[@]}"
same 3 1 "${forward[@]}"
forward=(--trials 100 --engine faithful)
simulate alone "$pricer" simulate "${forward[@]}"
same 3 2 "${forward[@]}"
mv sums.pricer ten.pricer
grid=(forward.yaml --vary hops=0,1,2 --vary trust.everyone.eps=1,4 --trials 600)
"$pricer" sweep "${grid[@]}" --to alone >/dev/null 2>&1 || fail "sweep of forwarding"
ranks 3 sweep "${grid[@]}" --threads 2 --to many >out.txt 2>err.txt ||
    fail "sweep of forwarding: $(cat err.txt)"
diff -r alone many || fail "sweep of forwarding: 3 ranks"
rm -rf alone many

# Sweeps: the same folder, a cell that fails among them.
cat >three.yaml <<END
dimension: 4
network: {generator: erdos-renyi, nodes: 3, uplink: [0.2, 0.9, 0.5], p: 0.7}
trust: {eps: 10}
END
grid=(three.yaml --vary network.p=0.2,0.9 --vary dimension=4,8 --vary network.uplink=0,.5
    --set network.reciprocity=1 --set objective.bias=unbiased --trials 60 --engine faithful --decoder adaptive)
"$pricer" sweep "${grid[@]}" --to alone >/dev/null 2>&1 || fail "sweep"
grep -q "reach the server" alone/sweep.csv || fail "no cell of the sweep fails"
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
images=$here/data/shapes-1000-images-idx3-ubyte.gz
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
# Open MPI's mpirun crashes now and then while it notes down that a job is aborted,
# after it has told what the rank said: then the job is tried again.
lose() {
    timeout -k 5 60 mpirun --oversubscribe -n 2 bash only_zero.sh \
        "$build"/pricer-mpi simulate lost.pricer --trials 100000 >out.txt 2>&1
}
for _ in 1 2 3; do
    lose
    status=$?
    [ $status = 139 ] && grep -q pmix_server_log out.txt || break
    echo "mpirun has crashed: once more"
done
[ $status = 1 ] && grep -q "rank 1 on" out.txt ||
    fail "a rank without the study: $status, $(cat out.txt)"
gone "a rank without the study"

# Ctrl-C: the trials so far are stored.
stop() {
    cp ten.pricer stop.pricer
    ranks 2 simulate "$folder"/stop.pricer --trials 1000000000 \
        >out.txt 2>err.txt &
    await 1
    at_work
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
# not. Where all cells were finished before the kill, longer ones are tried.
keep=0
kill_sweep() { # RANK TRIALS: what is kept of ten rows
    local slow=("$here"/examples/paper.yaml --vary network.p=0.1,0.3,0.5,0.7,0.9
        --vary dimension=4,8 --trials "$2" --decoder constant)
    rm -rf killed whole
    ranks 2 sweep "${slow[@]}" --threads 1 --to "$folder"/killed >out.txt 2>err.txt &
    await "$1"
    for _ in $(seq 2000); do
        [[ $(cat killed/sweep.csv killed/sweep.ahead 2>/dev/null) == *,ok,* ]] && break
        sleep 0.01
    done
    kill -KILL "$victim" 2>/dev/null
    wait
    gone "sweep, rank $1 killed"
    keep=$(cat killed/sweep.csv killed/sweep.ahead 2>/dev/null | grep -c ,ok,)
    [ "$keep" -lt 10 ] || return
    "$pricer" sweep "${slow[@]}" --to whole >/dev/null 2>&1 || fail "sweep"
    "$pricer" sweep "${slow[@]}" --to killed >/dev/null 2>&1 || fail "sweep goes on"
    diff -r whole killed || fail "sweep: killed rank $1, then finished"
}
for rank in 1 0; do
    for trials in 600000 2500000 10000000 40000000; do
        kill_sweep $rank $trials
        [ "$keep" -lt 10 ] && break
    done
    [ "$keep" -ge 1 ] && [ "$keep" -lt 10 ] || fail "sweep: $keep rows are kept"
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
else
    echo "no right to mount: the full disk is not tried"
fi

# A rank that is killed, and rank 0: a clear line, no process left, the study
# whole.
for rank in 1 0; do
    stop
    await $rank
    kill -KILL "$victim"
    wait
    named $rank err.txt
    gone "rank $rank killed"
    [ "$(sqlite3 stop.pricer 'PRAGMA integrity_check')" = ok ] ||
        fail "rank $rank killed: study"
done

# K-means too: a clear line, nobody left, and no file half written (the centres
# are those of the first run, and stand as soon as that has ended).
"$pricer" kmeans ten.pricer --data points.npy --seeds 1 --rounds 1 \
    --centres whole.npy >/dev/null || fail "kmeans"
for rank in 1 0; do
    ranks 2 kmeans ten.pricer --data "$folder"/points.npy --seeds 100000 \
        --centres killed.npy >out.txt 2>err.txt &
    await $rank
    at_work
    kill -KILL "$victim"
    wait
    named $rank err.txt
    gone "kmeans, rank $rank killed"
    [ ! -e killed.npy ] || [ "$(stat -c %s killed.npy)" = "$(stat -c %s whole.npy)" ] ||
        fail "kmeans, rank $rank killed: half of the centres"
    rm -f killed.npy
done
ranks 2 kmeans ten.pricer --data "$folder"/points.npy --seeds 100000 \
    >out.txt 2>err.txt &
await 1
at_work
kill -INT "$(pgrep -f "^mpirun .*$folder/points.npy")"
wait
gone "kmeans, Ctrl-C"

exit $bad
