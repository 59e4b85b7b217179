# What the tests of pricer-mpi share: a folder to work in, jobs of ranks, and who
# is still there. Source it with $1 the build folder and $here the source tree.
# shellcheck shell=bash
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
    timeout -k 5 200 mpirun --oversubscribe -n "$count" "$build"/pricer-mpi "$@"
}

# pid_of RANK: the process of a rank of the job that runs here.
pid_of() {
    local pid
    for pid in $(pgrep -f "^$build/pricer-mpi .*$folder"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid" && return
    done
}

# await RANK: wait until there is one; its process is $victim.
await() {
    for _ in $(seq 1000); do
        victim=$(pid_of "$1")
        [ -n "$victim" ] && return
        sleep 0.02
    done
    fail "there is no rank $1"
}

# at_work: wait until the victim has worked for a second, whatever else runs.
at_work() {
    local fields
    for _ in $(seq 1000); do
        read -ra fields <"/proc/$victim/stat" || break
        [ $((fields[13] + fields[14])) -gt 100 ] && return
        sleep 0.05
    done 2>/dev/null
    fail "the rank ended before it was stopped"
}

# gone WORDS: no process of the job is left after a moment.
gone() {
    for _ in $(seq 100); do
        pgrep -f "^$build/pricer-mpi .*$folder" >/dev/null || return 0
        sleep 0.1
    done
    fail "$1: processes are left"
    pgrep -af "^$build/pricer-mpi .*$folder"
}

# named RANK FILE: mpirun says in the file that it was killed, or that it ended the job
# since another one, which had noticed, returned an error before that was known.
named() {
    grep -qE "rank $1 .*signal 9 \(Killed\)|non-zero exit code.*aborted" \
        <(tr '\n' ' ' <"$2") || fail "rank $1 killed: $(cat "$2")"
}
