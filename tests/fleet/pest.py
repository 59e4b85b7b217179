"""Hostile peers by the thousand, enrolled and not, at server and node at once
(fleet/pest.c), while honest nodes run rounds: nobody ends, honest rounds are not
affected, memory stays bounded. Arguments: build folder, frames, connections,
seconds at most, milliseconds of a round; by default a size for every check. The
size that was asked for:

    tests/fleet/pest.py BUILD 1000000 100000 1800 1000
"""
import os
import subprocess
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
FRAMES, CONNECTIONS, SECONDS, PERIOD = (
    [int(word) for word in sys.argv[2:6]] if len(sys.argv) > 5
    else [8000, 400, 60, 400])
N, D, HONEST = 8, 64, 4
ROOM = 60       # MiB; a sanitizer keeps what is freed


def memory(process, what='VmRSS'):
    with open(f'/proc/{process.pid}/status') as file:
        for line in file:
            if line.startswith(what):
                return int(line.split()[1]) // 1024


def is_sanitized():
    with open(build + '/pricer-server', 'rb') as file:
        return b'__asan_init' in file.read()


def attack(fleet):
    """What the pest says that it did. It gets what the processor has left: the
    enemy's machine is another."""
    words = [os.path.join(build, 'tests', 'fleet_pest'), str(FRAMES),
             str(CONNECTIONS), str(SECONDS), '1', fleet.addresses['server'],
             fleet.addresses[0]] + [fleet.key(i) for i in range(HONEST, N)]
    done = subprocess.run(words, capture_output=True, text=True,
                          timeout=SECONDS + 60,
                          preexec_fn=lambda: os.nice(19))
    expect(done.returncode == 0, f'the pest: {done.returncode} {done.stderr}')
    return {word: int(number) for number, word in
            (line.split() for line in done.stdout.splitlines())}


def share(fleet, first, last):
    """Of what honest nodes sent in these rounds, what arrived: their sums, and
    the shares between them."""
    nodes = ','.join(str(i) for i in range(HONEST))
    sums, = fleet.query('SELECT avg(arrived) FROM arrival WHERE round > ? AND '
                        f'round <= ? AND node IN ({nodes})', first, last)[0]
    links, = fleet.query('SELECT avg(arrived) FROM delivery NATURAL JOIN link '
                         f'WHERE round > ? AND round <= ? AND from_node IN '
                         f'({nodes}) AND to_node IN ({nodes})', first, last)[0]
    return sums, links


with Fleet(build, nodes=N, dimension=D) as fleet:
    for i in range(HONEST):
        fleet.start_node(i)
    fleet.start_server('--quorum', str(HONEST), '--period', str(PERIOD),
                       '--send', str(PERIOD // 5), '--share',
                       str(PERIOD * 2 // 3), '--uplink', str(PERIOD - 10),
                       '--ahead', '0')
    fleet.wait_rounds(8)
    first = fleet.rounds()
    before = {name: memory(p) for name, p in fleet.processes.items()}
    started = time.monotonic()
    did = attack(fleet)
    took = time.monotonic() - started
    fleet.wait_rounds(first + 1)    # which a short attack is over before
    last = fleet.rounds()
    for name, process in fleet.processes.items():
        expect(process.poll() is None, f'{name} has gone:\n' + fleet.log(name))
    grown = {name: memory(p, 'VmHWM') - before[name]
             for name, p in fleet.processes.items()}
    fleet.wait_rounds(last + 3)
    for name in fleet.processes:
        expect(grown[name] < ROOM * (8 if is_sanitized() else 1),
               f'{name} grew by {grown[name]} MiB')
    calm = share(fleet, 2, first)
    sums, links = share(fleet, first, last)
    print(f'{took:.0f} s:', ', '.join(f'{v} {k}' for k, v in did.items()))
    print(f'{last - first} rounds meanwhile, {100 * sums:.2f} % of honest sums '
          f'and {100 * links:.2f} % of honest shares arrived (before: '
          f'{100 * calm[0]:.2f} %, {100 * calm[1]:.2f} %); memory grew by at '
          f'most {max(grown.values())} MiB; dropped {fleet.dropped()}')
    expect(did['frames'] >= FRAMES and did['connections'] >= CONNECTIONS,
           f'not all within {SECONDS} s')
    # The machine may be busy with other things; without it all arrive.
    expect(sums > .95 and links > .95, 'honest rounds suffered')
    # A newcomer is let in: the pest's keys and addresses have used up their own.
    fleet.start_node(N - 1)
    end = time.monotonic() + 30
    while fleet.query('SELECT arrived FROM arrival WHERE node = ? ORDER BY round '
                      'DESC LIMIT 1', N - 1) != [(1,)]:
        expect(time.monotonic() < end, 'nobody new is let in afterwards')
        time.sleep(.1)
    for name in list(fleet.processes):
        expect(fleet.stop(name) == 0, f'{name} did not stop well:\n' +
               fleet.log(name))
