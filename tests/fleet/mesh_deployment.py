"""The mesh of docs/deployment.md, word for word: thirty machines, each a network
namespace, of which only five reach the server and the others their neighbours alone.
Everyone arrives, over up to five relays. Needs the right to make namespaces; else it
is skipped with a reason. Arguments: build folder."""
import itertools
import re
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from deployment import MESH, Machines, enter_namespaces, read_page
from fleet import expect

N, ROW = 30, 5


def is_linked(a, b):
    """Of two machines in ascending order, the server first."""
    if a < 0:
        return b < ROW
    return b - a == ROW or (b - a == 1 and b % ROW > 0)


def read_blocks():
    """What follows each other at one prompt and in one block: (prompt, commands)."""
    rows = [row for row in read_page() if row[2] == MESH]
    return [(prompt, [row[1] for row in found]) for (prompt, _), found in
            itertools.groupby(rows, key=lambda row: (row[0], row[3]))]


def run(machines, names, command):
    """On some machines at once."""
    with ThreadPoolExecutor(len(names)) as threads:
        all_done = threads.map(lambda name: machines.run(name, re.sub(
            r'(?<=node)I\b|(?<= )I(?=\])', name[4:], command)), names)
    for name, done in zip(names, all_done):
        expect(done.returncode == 0, f'{name}# {command}\n' + done.stdout +
               done.stderr + machines.logs())
    machines.start()
    return done.stdout


def arrivals():
    """{round: {node: relays}}"""
    db = sqlite3.connect('file:/var/lib/pricer/mesh.pricer?mode=ro', uri=True,
                         timeout=10)
    try:
        found = {}
        for r, i, hops in db.execute('SELECT round, node, hops FROM '
                                     'round_arrival'):
            found.setdefault(r, {})[i] = hops
        return found
    finally:
        db.close()


def wait(machines):
    """Until everyone has arrived in a round, over the fewest relays there are."""
    end = time.monotonic() + 120
    while {i: i // ROW for i in range(N)} not in arrivals().values():
        expect(time.monotonic() < end, f'{arrivals()}\n' + machines.logs())
        time.sleep(.5)


def follow(machines):
    for prompt, commands in read_blocks():
        if 'curl' in commands[0]:       # "Two rounds later"
            wait(machines)
        rows = [[f'node{i + k}' for k in range(ROW)] for i in range(0, N, ROW)] \
            if prompt == 'nodeI' else [[prompt]]
        for names in rows:      # the one that reaches the server first
            for command in commands:
                said = run(machines, names, command)
                if '/health' in command:
                    expect(said == 'ok\n', said + machines.logs())
        print(f'{prompt}# ' + '; '.join(c.splitlines()[0] for c in commands))


enter_namespaces(N, [(a, b) for a in range(-1, N) for b in range(a + 1, N)
                     if not is_linked(a, b)])
with tempfile.TemporaryDirectory() as folder:
    machines = Machines(folder)
    try:
        follow(machines)
        expect('refused' not in machines.logs(), machines.logs())
        heard = {r: len(nodes) for r, nodes in arrivals().items()}
        print(f'arrivals by round: {heard}')
    finally:
        machines.stop()
