"""A mesh for a long time: plans are made, nodes are removed and enrolled again,
nodes are killed, and the server is restarted after a third of the time. At the end
memory and descriptors are where they were, all nodes contribute, and every stored
estimate is what the payloads add up to, bit for bit. Arguments: build folder,
seconds, seconds between changes; by default a size for every check. Half an hour:

    tests/fleet/mesh_soak.py BUILD 1800 10
"""
import itertools
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np

from fleet import expect
from mesh_fleet import Mesh
from watched import Watched, longest

build = sys.argv[1]
SECONDS, CHANGE = [float(word) for word in sys.argv[2:4]] \
    if len(sys.argv) > 3 else [9, 1]
N = 8
LINKS = [(i, i + 1) for i in range(0, N, 2)] + [(i, i + 2) for i in range(N - 2)]
UPLINK = [1, 1] + [0] * (N - 2)
NAMES = ['server'] + [f'node{i}' for i in range(N)]
SETTLED = min(60, SECONDS / 4)  # seconds until a process has all it needs
MEMORY, FILES = 6, 12           # MiB and descriptors that it may have more
PERIOD = 200
random.seed(11)


class Soak:
    def __init__(self, mesh):
        self.mesh, self.lives, self.live = mesh, [], {}
        self.counts = {}
        for name in NAMES:
            self.start(name)

    def start(self, name):
        if name == 'server':
            self.mesh.start_server('--ahead', '3', period=PERIOD)
        else:
            self.mesh.start_node(int(name[4:]), '--replay-noise', '--seed',
                                 str(self.mesh.seed))
        self.live[name] = Watched(name, self.mesh.processes[name], SETTLED)
        self.lives.append(self.live[name])

    # ------------------------------------------------------------ changes --
    def plan(self, *more):
        self.mesh.run('pricer', 'plan', self.mesh.study, *more)

    def plan_measured(self):
        self.plan('--from-deliveries')

    def remove(self):
        self.away = random.randrange(N)
        self.mesh.run('pricer', 'enrol', self.mesh.study, str(self.away),
                      '--remove')

    def enrol(self):
        self.mesh.run('pricer', 'enrol', self.mesh.study, str(self.away),
                      self.mesh.key(self.away) + '.pub',
                      self.mesh.addresses[self.away])

    def kill(self):
        """Half of the nodes live as long as the test."""
        name = f'node{random.randrange(1, N, 2)}'
        self.mesh.stop(name, signal.SIGKILL)
        self.start(name)

    def restart(self):
        expect(self.mesh.stop('server') == 0, self.mesh.log('server'))
        self.start('server')

    # -------------------------------------------------------------- rounds --
    def look(self):
        for name, life in self.live.items():
            expect(self.mesh.processes[name].poll() is None,
                   f'{name} had ended by itself:\n' + self.mesh.log(name))
            life.look()
        try:
            self.mesh.get('/')      # as a monitor does
            self.mesh.get('/metrics')
        except OSError:             # it has just begun
            pass

    def run(self):
        changes = itertools.cycle([self.plan, self.remove, self.enrol,
                                   self.plan_measured, self.kill])
        now = time.monotonic()
        begun, change = now, now + CHANGE
        while now < begun + SECONDS or 'restart' not in self.counts:
            time.sleep(min(1, CHANGE / 2))
            now = time.monotonic()
            self.look()
            if now < change:
                continue
            change += CHANGE
            due = now > begun + SECONDS / 3 and 'restart' not in self.counts
            act = self.restart if due else next(changes)
            act()
            self.counts[act.__name__] = self.counts.get(act.__name__, 0) + 1

    def check_flat(self):
        grown = [(life.growth(), life.name) for life in self.lives
                 if life.growth() is not None]
        expect(grown, 'no process lived long enough')
        for (memory, files), name in grown:
            expect(memory < MEMORY, f'{name} grew by {memory:.1f} MiB')
            expect(files <= FILES, f'{name} has {files} descriptors more')
        return max(memory for (memory, _), _ in grown), \
            max(files for (_, files), _ in grown)


with Mesh(build, N, LINKS, UPLINK, dimension=16, rounds=500, times=40,
          keys='release: sphere\n') as mesh:
    np.save(mesh.path('data.npy'), mesh.data)
    soak = Soak(mesh)
    mesh.wait_for(lambda found: any(len(heard) == N for heard in found.values()),
                  'a start')
    soak.run()
    if soak.counts.get('remove', 0) > soak.counts.get('enrol', 0):
        soak.enrol()
    last = mesh.last()
    mesh.wait_for(lambda found: any(len(heard) == N for r, heard in found.items()
                                    if r > last + 1), 'all contribute again')
    memory, files = soak.check_flat()
    for name in NAMES:
        expect(mesh.stop(name) == 0, f'{name} did not stop well:\n' +
               mesh.log(name))
    mesh.check_study()
    done = subprocess.run([os.path.join(build, 'tests', 'mesh_retell'),
                           mesh.study, mesh.path('data.npy'), str(mesh.seed)],
                          capture_output=True, text=True)
    expect(done.returncode == 0, done.stdout + done.stderr)
    print(f'{SECONDS:.0f} s, {soak.counts}: {mesh.rounds()} rounds; processes grew '
          f'by at most {memory:.1f} MiB and {files} descriptors (the longest '
          'lives: ' + '; '.join(
              life.tell() for life in
              (longest(soak.lives, server) for server in (True, False)) if life) +
          '); ' + done.stdout.strip())
