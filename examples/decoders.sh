#!/bin/sh
# What the decoders make of real data: the mean squared error of the three on
# four networks, nodes holding vectors drawn alike, one class each, and centred.
# Arguments: a .npy of feature vectors of length 1, their labels (IDX, gzipped),
# the pricer to run, and trials. Needs NumPy.
set -eu
features=$(realpath "$1")
labels=$(realpath "$2")
pricer=$(realpath "${3:-build/pricer}")
trials=${4:-400}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"

python3=/usr/bin/python3
columns=$($python3 - "$features" "$labels" <<'PYTHON'
import gzip, sys
import numpy as np
x = np.load(sys.argv[1]).astype('f8')
y = np.frombuffer(gzip.open(sys.argv[2]).read()[8:], 'u1')
for nodes in (10, 300):
    np.save(f'alike{nodes}.npy', x[:nodes])
    np.save(f'classes{nodes}.npy', np.stack([x[y == c % 10][c // 10]
                                             for c in range(nodes)]))
    np.save(f'centred{nodes}.npy', x[:nodes] - x.mean(axis=0))
print(x.shape[1])
PYTHON
)
echo "| network | worst case, constant | minimax | data | constant | minimax | adaptive |"
echo "|---|---|---|---|---|---|---|"
for network in paper scattered sole-good-node geometric; do
    nodes=10
    set -- --set "dimension=$columns"
    if [ $network = geometric ]; then
        nodes=300
        set -- "$@" --set network.nodes=$nodes
    fi
    "$pricer" new "$network.pricer" "$here/$network.yaml" "$@" >/dev/null
    "$pricer" plan "$network.pricer" --decoder minimax --json >plan.json
    for data in alike classes centred; do
        for decoder in constant minimax adaptive; do
            "$pricer" simulate "$network.pricer" --data "$data$nodes.npy" --engine \
                faithful --trials "$trials" --decoder $decoder --json \
                >"$decoder.json" 2>/dev/null
        done
        $python3 - "$network" "$data" <<'PYTHON'
import json, sys
plan = json.load(open('plan.json'))
played = [json.load(open(f'{d}.json')) for d in ('constant', 'minimax',
                                                 'adaptive')]
print(f"| {sys.argv[1]} | {plan['mse_worst_case']:.3f} | "
      f"{plan['decoder_mse_upper']:.3f} | {sys.argv[2]} | " + ' | '.join(
          f"{p['mse']:.4f} ± {p['mse_stderr']:.4f}" for p in played) + ' |')
PYTHON
    done
done
