#!/usr/bin/env bash
# Two MPI ranks against one, one thread each: a simulation and a sweep, start of
# the job included. Medians of interleaved runs; cpu is the processor time of all
# ranks together, so cpu of one over cpu of two is what sharing costs.
#
#     bench/ranks.sh BUILD [RUNS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
runs=${2:-3}
[ -x "$build"/pricer-mpi ] || { echo "this build has no MPI"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$build"/pricer new "$folder"/ten.pricer examples/paper.yaml >/dev/null
"$build"/pricer plan "$folder"/ten.pricer >/dev/null

simulate=(simulate "$folder"/ten.pricer --trials 20000000)
sweep=(sweep examples/paper.yaml --to "$folder"/sweep --force --trials 1500000
    --vary network.p=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8 --vary dimension=4,8)

# run RANKS ARGUMENT...: wall and processor seconds on a line.
run() {
    local count=$1
    shift
    TIMEFORMAT='%R %U'
    { time mpirun --oversubscribe -n "$count" "$build"/pricer-mpi "$@" \
        --threads 1 >/dev/null 2>&1; } 2>&1
}

printf '%-10s%12s%12s%12s%12s%10s\n' verb "one, s" "two, s" "one, cpu" "two, cpu" ratio
for verb in simulate sweep; do
    declare -n arguments=$verb
    : >"$folder"/one
    : >"$folder"/two
    for _ in $(seq "$runs"); do
        run 1 "${arguments[@]}" >>"$folder"/one
        run 2 "${arguments[@]}" >>"$folder"/two
    done
    middle() { cut -d' ' -f"$2" "$1" | sort -n | sed -n "$(((runs + 1) / 2))p"; }
    printf '%-10s%12s%12s%12s%12s%10.2f\n' $verb \
        "$(middle "$folder"/one 1)" "$(middle "$folder"/two 1)" \
        "$(middle "$folder"/one 2)" "$(middle "$folder"/two 2)" \
        "$(awk "BEGIN { print $(middle "$folder"/one 1) / $(middle "$folder"/two 1) }")"
done
echo "load of the machine meanwhile: $(cut -d' ' -f1 /proc/loadavg), $(nproc) cores"
