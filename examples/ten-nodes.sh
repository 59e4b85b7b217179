#!/usr/bin/env bash
# The main job, from nothing to a report: the paper's ten-node network is
# planned, its privacy accounted for, simulated, and run as eleven processes on
# loopback. $1: the build folder; everything made here goes into its ten-nodes/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$build/ten-nodes
rm -rf "$folder"
mkdir "$folder"
study=$folder/ten.pricer

step=0
say() {
    step=$((step + 1))
    printf '\n== %d of 6: %s\n\n' "$step" "$*"
}
say "the network: ten nodes, three with a good uplink (examples/paper.yaml)"
"$pricer" new "$study" "$here/paper.yaml"
say "the plan: weights and noise for every link, with proof"
"$pricer" plan "$study"
say "privacy: what each observer can learn"
"$pricer" privacy "$study"
say "simulation: a million rounds"
"$pricer" simulate "$study" --trials 1000000 --strategy unbiased --strategy best
say "the real thing: a server and ten nodes as processes on loopback, 300 rounds"
"$pricer" demo "$study" --rounds 300
say "the report: everything on one page"
"$pricer" report "$study" -o "$folder/report.html"
printf '\ndone in %d s: the study is %s, the report %s\n' \
    "$SECONDS" "$study" "$folder/report.html"
