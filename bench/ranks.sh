#!/usr/bin/env bash
# MPI ranks of one thread each against one rank.
#
#     bench/ranks.sh BUILD [RUNS]    two against one: a simulation, a sweep, a plan of 10^6 nodes
#     bench/ranks.sh BUILD --big     the plan on four ranks, and 4*10^6 nodes on four (20 GiB)
#
# Start of the job included. Medians of interleaved runs; cpu is the processor
# time of the rank that has most of it: one over two of those is what the ratio
# would be if nothing else ran here.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
runs=${2:-3}
[ -x "$build"/pricer-mpi ] || { echo "this build has no MPI"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

job() { # RANKS ARGUMENT...
    local count=$1
    shift
    mpirun --oversubscribe -n "$count" bench/rank_time.sh "$folder" \
        "$build"/pricer-mpi "$@" --threads 1
}

# measure RANKS ARGUMENT...: wall seconds and those of the busiest rank.
measure() {
    local start=$EPOCHREALTIME
    rm -f "$folder"/rank.*
    job "$@" >"$folder"/out 2>&1 || { cat "$folder"/out >&2; exit 1; }
    awk -v wall="$(awk "BEGIN { print $EPOCHREALTIME - $start }")" \
        '{ most = $1 > most ? $1 : most } END { printf "%.2f %.2f\n", wall, most }' \
        "$folder"/rank.*
}

median() { # FILE FIELD
    cut -d' ' -f"$2" "$1" | sort -n | sed -n "$(((runs + 1) / 2))p"
}

field() { # NODES
    cat >"$folder/$1.yaml" <<YAML
dimension: 100
network: {generator: geometric, nodes: $1, uplink: 0.05}
trust: {eps: 1, delta: 1e-5, probable: {above: 0.5, eps: 1000}}
YAML
}

if [ "$runs" = --big ]; then
    field 1000000
    field 4000000
    printf '%-9s%8s%12s%12s%14s%12s%10s\n' nodes ranks "wall, s" "plan, s" \
        "GiB, largest" "GiB, all" gap
    for row in "1000000 1" "1000000 4" "4000000 4"; do
        read -r nodes ranks <<<"$row"
        start=$EPOCHREALTIME
        job "$ranks" plan "$folder/$nodes.yaml" --report-only --json \
            >"$folder"/out 2>"$folder"/err || { cat "$folder"/err; exit 1; }
        /usr/bin/python3 - "$folder"/out "$start" "$EPOCHREALTIME" <<'PYTHON'
import json, sys
found = json.load(open(sys.argv[1]))
held = [rank["gibibytes"] for rank in found["ranks"]]
print("%-9d%8d%12.1f%12.1f%14.2f%12.2f%10.1e" % (
    found["nodes"], len(held), float(sys.argv[3]) - float(sys.argv[2]),
    found["plan_seconds"], max(held), sum(held), found["verified_gap"]))
PYTHON
    done
    echo "load of the machine meanwhile: $(cut -d' ' -f1 /proc/loadavg), $(nproc) cores"
    exit 0
fi

"$build"/pricer new "$folder"/ten.pricer examples/paper.yaml >/dev/null
"$build"/pricer plan "$folder"/ten.pricer >/dev/null
field 1000000
simulate=(simulate "$folder"/ten.pricer --trials 40000000)
sweep=(sweep examples/paper.yaml --to "$folder"/sweep --force --trials 600000
    --vary network.p=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8 --vary dimension=2,4,6,8)
plan=(plan "$folder"/1000000.yaml --report-only)

printf '%-10s%12s%12s%12s%12s%10s%12s\n' verb "one, s" "two, s" "one, cpu" \
    "two, cpu" ratio "ratio, cpu"
for verb in simulate sweep plan; do
    declare -n arguments=$verb
    : >"$folder"/one
    : >"$folder"/two
    for _ in $(seq "$runs"); do
        measure 1 "${arguments[@]}" >>"$folder"/one
        measure 2 "${arguments[@]}" >>"$folder"/two
    done
    awk -v verb=$verb -v one="$(median "$folder"/one 1)" \
        -v two="$(median "$folder"/two 1)" -v cpu="$(median "$folder"/one 2)" \
        -v half="$(median "$folder"/two 2)" 'BEGIN {
            printf "%-10s%12.2f%12.2f%12.2f%12.2f%10.2f%12.2f\n", verb, one, two,
                cpu, half, one / two, cpu / half }'
done
echo "load of the machine meanwhile: $(cut -d' ' -f1 /proc/loadavg), $(nproc) cores"
