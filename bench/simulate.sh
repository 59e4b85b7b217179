#!/usr/bin/env bash
# The simulator against NumPy in the same run. $1: the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."
read -r plain noised tuned loops < <(/usr/bin/python3 bench/simulate_numpy.py 0.1)
exec "$1"/bench/bench_simulate examples/paper.yaml "$plain" "$noised" "$tuned" "$loops"
