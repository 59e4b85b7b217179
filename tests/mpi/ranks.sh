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
for options in "--trials 300000 --data random --strategy naive" \
    "--trials 400 --engine faithful --decoder adaptive"; do
    # shellcheck disable=SC2086
    simulate alone "$pricer" simulate $options
    for count in 1 2 3 4; do
        for threads in 1 2; do
            # shellcheck disable=SC2086
            simulate many ranks $count simulate $options --threads $threads
            cmp alone.json many.json ||
                fail "$options: $count ranks, $threads threads print otherwise"
            cmp alone.sql many.sql ||
                fail "$options: $count ranks, $threads threads store otherwise"
        done
    done
done

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
