"""A fleet for a long time: a process killed every few seconds, the plan changed
now and then, and at the end memory and descriptors are where they were, every
release that arrived is charged, and every stored estimate is what the payloads
add up to, bit for bit. Arguments: build folder, seconds, nodes, milliseconds of
a round, seconds between kills, seconds between plans; by default a size for every
check. Half an hour of a hundred nodes:

    tests/fleet/soak.py BUILD 1800 100 2000 5 60
"""
import os
import random
import signal
import subprocess
import sys
import time

from fleet import Fleet, expect
from watched import Watched, longest

build = sys.argv[1]
SECONDS, N, PERIOD, KILL, PLAN = (
    [float(word) for word in sys.argv[2:7]] if len(sys.argv) > 6
    else [10, 6, 200, 1, 3])
N, PERIOD = int(N), int(PERIOD)
D, DEGREE = 64, 4
SETTLED = min(60, SECONDS / 4)      # seconds until a process has all it needs
MEMORY, FILES = 6, 3 * DEGREE + 8   # MiB and descriptors that it may have more
random.seed(11)


class Soak:
    def __init__(self, fleet):
        self.fleet, self.lives, self.live = fleet, [], {}
        self.kills = self.plans = self.pages = 0

    def start(self, name):
        if name == 'server':
            third = PERIOD // 3
            self.fleet.start_server(
                '--quorum', '1', '--period', str(PERIOD), '--send', str(third),
                '--share', str(2 * third), '--uplink', str(PERIOD - 20),
                '--ahead', '3', '--port', str(self.fleet.status_port))
        else:
            self.fleet.start_node(int(name[4:]), '--replay-noise', '--seed',
                                  str(self.fleet.seed))
        self.live[name] = Watched(name, self.fleet.processes[name],
                                  SETTLED)
        self.lives.append(self.live[name])

    def kill(self):
        name = random.choice(['server'] + [f'node{i}' for i in range(N)])
        expect(self.fleet.processes[name].poll() is None,
               f'{name} had ended by itself:\n' + self.fleet.log(name))
        self.fleet.stop(name, signal.SIGKILL)
        self.start(name)
        self.kills += 1

    def read_page(self):
        """As a monitor does; a server that has just begun may not have it yet."""
        try:
            self.pages += self.fleet.get('/metrics')[0] == 200
            self.pages += self.fleet.get('/')[0] == 200
        except OSError:
            pass

    def change_plan(self):
        self.plans += 1
        k = self.plans % 3
        self.fleet.add_plan([.1, .2, 2.][k], [.1, .2, 1.][k], [.6, .4, 3.][k],
                            [.1, .3, 1.][k])

    def run(self):
        now = time.monotonic()
        end, kill, plan, look = now + SECONDS, now + KILL, now + PLAN, now
        while now < end:
            time.sleep(max(0, min(end, kill, plan, look) - now))
            now = time.monotonic()
            if now >= kill:
                self.kill()
                kill += KILL
            if now >= plan:
                self.change_plan()
                plan += PLAN
            if now >= look:
                for life in self.live.values():
                    life.look()
                self.read_page()
                look += SETTLED / 4

    def check_flat(self):
        grown = [(life.growth(), life.name) for life in self.lives
                 if life.growth() is not None]
        expect(grown, 'no process lived long enough')
        for (memory, files), name in grown:
            expect(memory < MEMORY, f'{name} grew by {memory:.1f} MiB')
            expect(files <= FILES + (N if name == 'server' else 0),
                   f'{name} has {files} descriptors more')
        return (max(memory for (memory, _), _ in grown),
                max(files for (_, files), _ in grown), len(grown))


def ring():
    """Each node with its neighbours to both sides."""
    return [(i, j) for i in range(N) for j in range(N) if i != j and
            min((i - j) % N, (j - i) % N) <= DEGREE // 2]


with Fleet(build, nodes=N, dimension=D, topology=ring(), weight=.1, noise=.1,
           own=.6) as fleet:
    soak = Soak(fleet)
    for name in [f'node{i}' for i in range(N)] + ['server']:
        soak.start(name)
    fleet.wait_rounds(2, 120)
    soak.run()
    memory, files, lives = soak.check_flat()
    for name in list(fleet.processes):
        expect(fleet.processes[name].poll() is None, f'{name} has gone')
    for name in ['server'] + [f'node{i}' for i in range(N)]:
        expect(fleet.stop(name) == 0, f'{name} did not stop well:\n' +
               fleet.log(name))
    fleet.check_study()
    shares = fleet.check_charged()
    done = subprocess.run([os.path.join(build, 'tests', 'fleet_retell'),
                           fleet.study, fleet.path('data.npy'), str(fleet.seed)],
                          capture_output=True, text=True)
    expect(done.returncode == 0, done.stdout + done.stderr)
    rounds, arrived = fleet.query('SELECT count(*), avg(arrived) FROM round')[0]
    print(f'{SECONDS:.0f} s, {N} nodes, {soak.kills} kills, {soak.plans} changes '
          f'of plan: {rounds} rounds with {arrived:.1f} sums each, {shares} shares '
          f'all charged; {lives} lives of {SETTLED:.0f} s and more grew by at most '
          f'{memory:.1f} MiB and {files} descriptors (the longest: ' +
          '; '.join(life.tell() for life in
                    (longest(soak.lives, server) for server in (True, False))
                    if life) +
          f'), {soak.pages} pages read; ' + done.stdout.strip())
