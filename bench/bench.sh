#!/usr/bin/env bash
# Every benchmark, one after the other, or those named:
#
#     ./run bench [NAME...]
#
# Each measures ours and its rival in the same run. $1: the build folder.
# CIFAR=data_batch_1.bin: real data for kmeans.
set -uo pipefail
build=$(realpath "$1")
shift
cd "$(dirname "$0")/.."

# name, what it shows, command
benches=(
    "new_study|pricer new against sqlite3 .import|bench/new_study.sh $build"
    "read_csv|reading a CSV network against sqlite3 .import|$build/bench/bench_read_csv"
    "generate|the geometric generator up to 10^6 nodes|$build/bench/bench_generate"
    "optimise|planning dense networks, and geometric ones up to 10^5 nodes (10^6 with --big)|$build/bench/bench_optimise"
    "optimise_server|planning a geometric network of 10^5 nodes with and without budgets towards the server|$build/bench/bench_optimise --server"
    "memory|the memory that a plan of 10^6 nodes takes|$build/bench/bench_optimise --memory"
    "robustness|ten thousand networks at their extremes, every plan certified|$build/bench/bench_robustness"
    "ranks|two MPI ranks against one, a thread each: simulate, sweep, a plan of 10^6 nodes (4*10^6 with --big)|bench/ranks.sh $build"
    "threads|two threads against one, alone and beside eight other programs|$build/bench/bench_threads"
    "plan_paper|planning against the paper's method in NumPy|/usr/bin/python3 bench/plan_paper.py $build/bench/bench_plan_paper"
    "plan_ipopt|planning dense networks against Ipopt|env OPENBLAS_NUM_THREADS=1 $build/bench/bench_plan_ipopt"
    "plan_cvxopt|planning dense networks against cvxopt|/usr/bin/python3 bench/plan_cvxopt.py $build/bench/bench_plan_problem"
    "plan_server|planning with server budgets against cvxopt|/usr/bin/python3 bench/plan_server.py $build/bench/bench_plan_server"
    "robustness_server|the same networks with budgets towards the server|$build/bench/bench_robustness --server"
    "privacy|accounts of privacy: ten nodes and a thousand, against NumPy|/usr/bin/python3 bench/privacy.py $build"
    "brackets|how wide the brackets of all observers are, the paper's network (other options: all)|$build/bench/bench_brackets --paper --rounds 1"
    "noise|the noise of the round, samples a second|$build/bench/bench_noise"
    "release|expanding seeds against NumPy's normals, and releases against expansions|/usr/bin/python3 bench/release.py $build/bench/bench_release"
    "simulate|simulated trials against NumPy and the random bits|bench/simulate.sh $build"
    "forward_simulate|simulated rounds with forwarding, 150 nodes, 3 hops, against NumPy (asked: 50 times)|/usr/bin/python3 bench/forward_simulate.py $build"
    "forward_plan|plans of forwarding, geometric networks up to 10^5 nodes (10^6 with --big)|$build/bench/bench_forward_plan"
    "decoder|the minimax decoder: worst case against the constant one, and its speed|$build/bench/bench_decoder"
    "decoder_rounds|simulated rounds with the minimax decoder against NumPy|/usr/bin/python3 bench/decoder.py $build/bench/bench_decoder"
    "load|a server with 1,000 and 10,000 nodes, and their throughput, played by one process|/usr/bin/python3 bench/load.py $build"
    "mesh|the server of a mesh with 1,000 nodes that each hand it 30 packets a round, and 10,000 nodes|/usr/bin/python3 bench/mesh_load.py $build 10 30 1000 10000"
    "mesh_node|CPU of a node of a mesh with 30 neighbours and 300 packets a round|/usr/bin/python3 bench/mesh_node.py $build"
    "mesh_bytes|bytes between nodes, forwarding against sums, 100 nodes, d = 10^4|/usr/bin/python3 bench/mesh_bytes.py $build"
    "fleet|a fleet of 100 nodes, d = 10^4, against a bare TLS pipe|/usr/bin/python3 bench/fleet.py $build"
    "kmeans|Lloyd's steps against scikit-learn (also on the files in \$CIFAR)|/usr/bin/python3 bench/kmeans.py $build ${CIFAR:-}"
    "python|from NumPy arrays of 10^6 links to a plan against the same in C|/usr/bin/python3 bench/python.py $build"
)

wanted() {
    [ $# -eq 1 ] && return 0
    local name=$1
    shift
    for word in "$@"; do
        [ "$word" = "$name" ] && return 0
    done
    return 1
}

for word in "$@"; do
    printf '%s\n' "${benches[@]}" | grep -q "^$word|" && continue
    echo "there is no benchmark $word; there are:" >&2
    printf '  %s\n' "${benches[@]%%|*}" >&2
    exit 2
done
ninja -C "$build" --quiet bench-programs || exit 1
status=0
for row in "${benches[@]}"; do
    IFS='|' read -r name about command <<<"$row"
    wanted "$name" "$@" || continue
    echo "== $name: $about"
    $command || { echo "FAILED: $name"; status=1; }
    echo
done
exit $status
