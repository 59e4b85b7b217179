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

say() {
    printf '\n== %s\n\n' "$*"
}
say "the network: ten nodes, three with a good uplink (examples/paper.yaml)"
"$pricer" new "$study" "$here/paper.yaml"
say "the plan: weights and noise for every link, with proof"
"$pricer" plan "$study"
say "privacy: what each observer can learn"
"$pricer" privacy "$study"
say "simulation: a million rounds"
"$pricer" simulate "$study" --trials 1000000 --strategy unbiased --strategy best
say "the real thing: a server and ten nodes as processes on loopback"
"$pricer" demo "$study" --rounds 300
"$pricer" report "$study" -o "$folder/report.html"
say "done: the study is $study, the report $folder/report.html"
