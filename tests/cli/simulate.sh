#!/usr/bin/env bash
# pricer simulate as a user runs it: what it prints and stores, that threads do
# not matter, Ctrl-C, and what it refuses. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# holds EXPRESSION: a Python expression about the JSON object in out.json.
holds() {
    python3 - "$1" <<'PYTHON' || fail "not so: $1"
import json, math, sys
o = json.load(open("out.json"))
s = {row["strategy"]: row for row in o["strategies"]}
agrees = lambda r: abs(r["mse"] - r["predicted"]) < 4.9 * r["mse_stderr"]
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}

# simulate ARGUMENT...: into out.json, and nothing on stderr. The constant
# decoder, of which everything is known exactly, unless it says otherwise.
decoder=(--decoder constant)
simulate() {
    "$pricer" simulate "$@" "${decoder[@]}" --json >out.json 2>err.txt ||
        fail "simulate $* exited $?: $(cat err.txt)"
    [ ! -s err.txt ] || fail "simulate $* said: $(cat err.txt)"
}

# write_npy FILE ROWS COLUMNS SCALE: float64, each row SCALE times a unit vector.
write_npy() {
    python3 - "$@" <<'PYTHON'
import struct, sys
path, rows, columns, scale = sys.argv[1], *map(int, sys.argv[2:4]), float(sys.argv[4])
text = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
text += " " * (63 - (10 + len(text)) % 64) + "\n"
values = [scale * (c == r) for r in range(rows) for c in range(columns)]
open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
                       + struct.pack("<%dd" % len(values), *values))
PYTHON
}

"$pricer" new ten.pricer "$here"/examples/paper.yaml >/dev/null
expect 1 "no plan yet" "$pricer" simulate ten.pricer
"$pricer" plan ten.pricer >/dev/null || fail "no plan"

# The contract, and the prediction for each kind of data.
simulate ten.pricer
holds "list(o)[:6] == ['trials', 'mse', 'mse_stderr', 'predicted', 'worst_case', 'seconds']"
holds "o['trials'] == 100000 and agrees(o) and abs(o['predicted'] - o['worst_case']) < 1e-9"
holds "o['seed'] == 1 and o['engine'] == 'fast' and o['data'] == 'worst-case' and o['clipped'] == 0"
holds "sum(b['trials'] for b in s['plan']['histogram']) == 100000"
holds "all(o['deliveries'][k]['deviations'] < 6 for k in ('uplinks', 'links', 'pairs'))"
holds "abs(s['plan']['bias'] - s['plan']['bias_predicted']) < 0.01"
simulate ten.pricer --data random --trials 200000
holds "o['trials'] == 200000 and agrees(o) and o['predicted'] < o['worst_case']"
write_npy data.npy 10 128 0.5
simulate ten.pricer --data data.npy
holds "agrees(o) and o['clipped'] == 0 and o['data'] == 'given'"
write_npy long.npy 10 128 3
simulate ten.pricer --data long.npy
holds "agrees(o) and o['clipped'] == 10"

# Clipped data against the mean of the data as given. One node of full trust with p =
# 0.5 and radius 2 has weight 1: its vector of length 6 arrives as one of length 2 or
# not at all, hence 2^2 / 2 against the clipped mean and (4^2 + 6^2) / 2 against its own.
printf 'node,p\n0,0.5\n' >nodes.csv
printf 'from,to,p\n' >links.csv
printf '%s\n' 'dimension: 3' 'radius: 2' 'trust: {eps: inf, self: {eps: inf}}' \
    'network: {files: {nodes: nodes.csv, links: links.csv}}' >lone.yaml
"$pricer" new lone.pricer lone.yaml >/dev/null && "$pricer" plan lone.pricer >/dev/null ||
    fail "no plan of one node"
write_npy long.npy 1 3 6
for engine in fast faithful; do
    simulate lone.pricer --data long.npy --engine $engine --trials 20000
    holds "o['clipped'] == 1 and abs(o['mse'] - 2) < .08 and abs(o['mse_given'] - 26) < .4"
    # both are of the same trials: 4 (1 - f) and 16 f + 36 (1 - f) where a share f arrives
    holds "abs(o['mse_given'] - (16 + 5 * o['mse'])) < 1e-6"
done
expect 0 "CLIPPED: 1 of 1 vectors" "$pricer" simulate lone.pricer --data long.npy
simulate ten.pricer
holds "o['mse_given'] == o['mse']"

# The histogram of the fast engine is not one of squared errors, and says so.
expect 0 "histogram of the expected error given the links" "$pricer" simulate ten.pricer
expect 0 "histogram of the squared error" "$pricer" simulate ten.pricer --engine faithful

# A link that is up once in 10,000 trials although p = 1e-7 is 32 deviations off, and
# some of 1,485 such pairs of links are in most runs: no warning.
{
    echo from,to,p
    for from in $(seq 0 54); do
        for to in $(seq 0 54); do [ "$from" = "$to" ] || echo "$from,$to,1e-7"; done
    done
} >links.csv
{ echo node,p; for k in $(seq 0 54); do echo "$k,0.5"; done; } >nodes.csv
"$pricer" new --force faint.pricer lone.yaml >/dev/null &&
    "$pricer" plan faint.pricer --decoder constant >/dev/null || fail "no plan of faint links"
for seed in 1 2 3 4; do
    simulate faint.pricer --trials 10000 --seed $seed
done

simulate ten.pricer --engine faithful --trials 4000 --data random
holds "agrees(o) and o['engine'] == 'faithful'"

# Threads change nothing; the seed does; and so it is for both engines.
for engine in fast faithful; do
    trials=5000
    "$pricer" new same.pricer --force "$here"/examples/paper.yaml >/dev/null
    "$pricer" plan same.pricer --decoder constant >/dev/null
    for threads in 1 2 3; do
        simulate same.pricer --engine $engine --trials $trials --threads $threads \
            --seed 7 --data random --strategy naive
        sed 's/"seconds": *[^,]*,//' out.json >$threads.json
    done
    cmp -s 1.json 2.json && cmp -s 1.json 3.json || fail "threads matter ($engine)"
    simulate same.pricer --engine $engine --trials $trials --seed 8 --data random --strategy naive
    sed 's/"seconds": *[^,]*,//' out.json | cmp -s - 1.json && fail "the seed does not matter"
    [ "$(sqlite3 same.pricer 'SELECT count(DISTINCT mse) FROM simulation_strategy')" = 4 ] ||
        fail "stored results differ"
done

# Strategies on the same trials.
simulate ten.pricer --trials 50000 --strategy naive --strategy unbiased --strategy best \
    --strategy colrel
holds "list(s) == ['plan', 'naive', 'unbiased', 'best', 'colrel'] and all(map(agrees, s.values()))"
holds "abs(s['best']['difference'] - (s['best']['mse'] - o['mse'])) < 1e-9"
holds "s['best']['difference_stderr'] < math.hypot(s['best']['mse_stderr'], o['mse_stderr'])"
holds "s['colrel']['mse'] < o['mse'] < s['best']['mse'] < s['naive']['mse'] < s['unbiased']['mse']"
expect 0 "against plan" "$pricer" simulate ten.pricer --trials 2000 --strategy gradient
expect 2 "there is no strategy 'nive'" "$pricer" simulate ten.pricer --strategy nive

# The decoder of the plan: below the constant one's
# error and its own worst case, with bars; the others stay as they were.
simulate ten.pricer --strategy best
cp out.json constant.json
decoder=(--decoder minimax)
simulate ten.pricer --strategy best
holds "o['decoder'] == 'minimax' and o['predicted'] is None and s['plan']['bias_predicted'] is None"
holds "o['mse'] < 0.8 * json.load(open('constant.json'))['mse']"
holds "o['mse'] < o['worst_case'] + 4 * o['mse_stderr'] and 0.95 < o['bar'] / o['mse'] < 1.1"
holds "s['best']['mse'] == json.load(open('constant.json'))['strategies'][1]['mse']"
holds "s['best']['bar'] is None and agrees(s['best'])"
holds "json.load(open('constant.json'))['decoder'] == 'constant'"
[ "$(sqlite3 ten.pricer "SELECT decoder, mse = readfile('out.json')->>'mse',
    bar = readfile('out.json')->>'bar', predicted IS NULL
    FROM simulation JOIN simulation_strategy USING (simulation)
    WHERE strategy = 'plan' ORDER BY simulation DESC LIMIT 1")" = 'minimax|1|1|1' ] ||
    fail "decoder and bar are not stored"
simulate ten.pricer --data random --engine faithful --trials 500
holds "o['decoder'] == 'minimax' and o['mse'] < o['worst_case']"
decoder=()
simulate ten.pricer --data random --engine faithful --decoder adaptive --trials 500
holds "o['decoder'] == 'adaptive' and o['worst_case'] is None and o['bar'] > 0"
expect 0 "adaptive decoder (no guarantee): mean error bar" "$pricer" simulate ten.pricer \
    --engine faithful --decoder adaptive --trials 100
expect 1 "only the faithful engine" "$pricer" simulate ten.pricer --decoder adaptive
expect 2 "--decoder" "$pricer" simulate ten.pricer --decoder best
"$pricer" new bare.pricer "$here"/examples/paper.yaml >/dev/null
"$pricer" plan bare.pricer --decoder constant >/dev/null
expect 1 "plan 1 has no decoder" "$pricer" simulate bare.pricer --decoder minimax
simulate bare.pricer --trials 1000
holds "o['decoder'] == 'constant' and o['bar'] is None"
"$pricer" plan bare.pricer >/dev/null
sqlite3 bare.pricer "UPDATE decoder_node SET own = 2 WHERE node = 3"
expect 1 "decoder_node is not in order" "$pricer" simulate bare.pricer --decoder minimax
decoder=(--decoder constant)

# What the study holds of it.
"$pricer" new kept.pricer "$here"/examples/paper.yaml >/dev/null
"$pricer" plan kept.pricer --decoder constant >/dev/null
simulate kept.pricer --trials 1000 --strategy best
q() { sqlite3 kept.pricer "$1"; }
[ "$(q 'SELECT plan, engine, data, seed, trials, clipped FROM simulation')" = '1|fast|worst-case|1|1000|0' ] ||
    fail "simulation: $(q 'SELECT * FROM simulation')"
[ "$(q 'SELECT count(*) FROM simulation_strategy')" = 2 ] || fail "simulation_strategy"
[ "$(q "SELECT sum(trials) FROM simulation_bin WHERE strategy = 'best'")" = 1000 ] || fail "simulation_bin"
[ "$(q 'SELECT count(*) FROM simulation_node')" = 10 ] || fail "simulation_node"
[ "$(q 'SELECT count(*), min(up > 0), sum(both = up) FROM simulation_link')" = '90|1|90' ] || fail "simulation_link"
[ -z "$(q 'PRAGMA foreign_key_check')" ] || fail "dangling references"

# What is refused leaves the study as it was.
before=$(sqlite3 kept.pricer .dump | cksum)
write_npy wrong.npy 9 128 1
expect 1 "the data is 9 x 128" "$pricer" simulate kept.pricer --data wrong.npy
expect 1 "nothing.npy" "$pricer" simulate kept.pricer --data nothing.npy
expect 1 "there is no plan 7" "$pricer" simulate kept.pricer --plan 7
expect 2 "--engine" "$pricer" simulate kept.pricer --engine slow
expect 2 "--trials" "$pricer" simulate kept.pricer --trials -1
expect 2 "'0' for --trials" "$pricer" simulate kept.pricer --trials 0
expect 2 "--trials" "$pricer" simulate kept.pricer --trials many
expect 1 "none.pricer" "$pricer" simulate none.pricer
[ "$before" = "$(sqlite3 kept.pricer .dump | cksum)" ] || fail "a refusal changed the study"

# Ctrl-C: what was played so far is the result, and is stored. (A shell starts
# background jobs deaf to SIGINT; python3 makes them hear again.)
python3 - "$pricer" <<'PYTHON' >interrupted.txt || fail "Ctrl-C: $(cat interrupted.txt)"
import json, signal, subprocess, sys, time
def at_work(pid): # how long, in hundredths of a second
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
for engine in ("fast", "faithful"):
    run = subprocess.Popen([sys.argv[1], "simulate", "kept.pricer", "--trials", "1000000000000",
                            "--engine", engine, "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    while run.poll() is None and at_work(run.pid) < 200:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=120)
    if run.returncode != 0 or "stopped after" not in err:
        sys.exit(f"exit {run.returncode}: {err}")
    if not 0 < json.loads(out)["trials"] < 10**12:
        sys.exit(out)
PYTHON
[ "$(q 'SELECT count(*) FROM simulation')" = 3 ] || fail "an interrupted simulation is not stored"
exit $bad
