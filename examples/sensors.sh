#!/usr/bin/env bash
# The main job, from nothing to a report: a field of sensors is planned within a
# budget towards everyone, its privacy accounted for and attacked, simulated, and
# a smaller one of its kind run as processes on loopback. $1: the build folder;
# everything made here goes into its sensors/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$build/sensors
rm -rf "$folder"
mkdir "$folder"
study=$folder/sensors.pricer
part=$folder/forty.pricer

step=0
say() {
    step=$((step + 1))
    printf '\n== %d of 7: %s\n\n' "$step" "$*"
}
say "the network: 150 sensors, one in seven with a good uplink (examples/sensors.yaml)"
"$pricer" new "$study" "$here/sensors.yaml"
say "the plan: one private release a sensor, forwarded by its neighbours"
"$pricer" plan "$study"
say "privacy: what everyone together learns about a sensor"
"$pricer" privacy "$study"
say "audit: does an attack on real releases contradict that?"
"$pricer" audit "$study"
say "simulation: 200,000 rounds"
"$pricer" simulate "$study" --trials 200000
say "the real thing: a smaller field, a server and forty sensors as processes on loopback"
"$pricer" new "$part" "$here/sensors.yaml" --set network.nodes=40
"$pricer" plan "$part" >/dev/null
echo "(100 rounds with data made up for this: ledgers are opened for all of them;"
echo "sensors with real data would stop after the one round of their budget)"
"$pricer" demo "$part" --rounds 100
say "the report: everything on one page"
"$pricer" report "$study" -o "$folder/report.html"
printf '\ndone in %d s: the study is %s, the report %s\n' \
    "$SECONDS" "$study" "$folder/report.html"
