#!/usr/bin/env bash
# The tables of docs/networks.md: measured networks planned with forwarding, next to no
# relaying and weighted sums. $1: a folder with intel-lab/connectivity.txt,
# iotlab-grenoble-k7/prr.csv, freifunk/freifunk-leipzig.json and
# freifunk/freifunk-bielefeld.json, those that are there are taken; $2: pricer, by
# default the one in the path. EPS and DIMENSIONS choose other rows.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: examples/networks.sh DATA_FOLDER [PRICER]" >&2; exit 2; }
[ -d "$1" ] || { echo "networks.sh: $1 is no folder" >&2; exit 1; }
data=$(realpath "$1")
pricer=$(command -v "${2:-pricer}") || { echo "networks.sh: no program ${2:-pricer}" >&2; exit 1; }
pricer=$(realpath "$pricer")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# A map of batman-adv: tq of both directions as lines of sender, receiver, p. VPN links have
# no tq and are left out. A map has no server: the node with the most links is taken. The
# last line of the output is its number.
from_map() { # MAP LIST
    python3 - "$1" "$2" <<'PYTHON'
import collections, json, sys
links = [l for l in json.load(open(sys.argv[1]))["links"] if "source_tq" in l]
with open(sys.argv[2], "w") as out:
    for l in links:
        print(l["source"], l["target"], l["source_tq"], file=out)
        print(l["target"], l["source"], l["target_tq"], file=out)
count = collections.Counter(n for l in links for n in (l["source"], l["target"]))
print(min(count, key=lambda n: (-count[n], n)))
PYTHON
}

# One plan: its JSON object. Without hops, the number is chosen.
plan() { # SCENARIO DIMENSION EPS [HOPS]
    local sets=(--set "dimension=$2" --set "trust.everyone.eps=$3")
    [ $# -lt 4 ] || sets+=(--set "hops=$4")
    "$pricer" new study.pricer "$1" --force "${sets[@]}" >/dev/null
    "$pricer" plan study.pricer --json
}

# A table: errors in percent of that of always answering zero.
table() { # SCENARIO
    printf '\n| d | eps | no relaying | sums | 1 hop | 2 | 3 | 5 | chosen | perfect links |\n'
    printf '|---|---|---|---|---|---|---|---|---|---|\n'
    for d in ${DIMENSIONS:-2 16 128}; do
        for eps in ${EPS:-1 2 4 8}; do
            for hops in 1 2 3 5; do plan "$1" "$d" "$eps" "$hops" >"plan$hops.json"; done
            plan "$1" "$d" "$eps" >plan.json
            python3 - "$d" "$eps" <<'PYTHON'
import json, sys
plans = [json.load(open(f"plan{h}.json")) for h in ("1", "2", "3", "5", "")]
last = plans[-1]
def cell(error):
    return f"{100 * error / last['zero_mse']:#.3g}"
cells = sys.argv[1:] + [cell(last["mse_alone"]), cell(last["mse_sum"])]
cells += [cell(p["mse_worst_case"]) for p in plans]
cells[-1] += f" ({last['hops']})"
print("| " + " | ".join(cells + [cell(last["mse_perfect"])]) + " |")
PYTHON
        done
    done
    echo
    echo "Heard with the hops of the last row: $(python3 -c \
        'import json; p = json.load(open("plan.json")); print(p["heard"], "of", p["nodes"])')."
}

# The table of a list of measured links.
measured() { # TITLE LIST SERVER MIN_P
    [ -f "$2" ] || { echo "$2 is not there" >&2; return 0; }
    rm -rf network
    printf '\n## %s\n\n' "$1"
    "$pricer" import "$2" --server "$3" --min-p "$4" --to network | head -1 |
        sed 's/^network: //; s/$/./'
    table network/scenario.yaml
}

printf '## Sensors\n\nNot measured: the generated network of examples/sensors.yaml, 150 nodes.\n'
table "$here/sensors.yaml"
measured "Intel Berkeley lab" "$data/intel-lab/connectivity.txt" 0 0.05
measured "IoT-LAB Grenoble" "$data/iotlab-grenoble-k7/prr.csv" 0 0.03
for town in Leipzig Bielefeld; do
    map=$data/freifunk/freifunk-${town,,}.json
    [ -f "$map" ] || { echo "$map is not there" >&2; continue; }
    server=$(from_map "$map" "$town.txt")
    measured "Freifunk $town" "$town.txt" "$server" 0
done
