"""A mesh in network namespaces: a grid of nodes of which the first column reaches
the server, and no packet of IP passes between any pair without a link. Nodes at
the far end are heard over relays; links are really cut and restored, and who
arrives is who has a path. Needs the right to make namespaces; else it is skipped
with a reason. Arguments: build folder, rows, columns; by default 2 and 5. Thirty
nodes over five relays:

    tests/fleet/mesh_netns.py BUILD 5 6
"""
import os
import subprocess
import sys

from fleet import expect
from mesh_fleet import Mesh

build = sys.argv[1]
ROWS, COLUMNS = [int(word) for word in sys.argv[2:4]] \
    if len(sys.argv) > 3 else [2, 5]
N = ROWS * COLUMNS
FIRST = list(range(ROWS))       # node i is in column i // ROWS
LINKS = [(i, i + 1) for i in range(N) if (i + 1) % ROWS] + \
    [(i, i + ROWS) for i in range(N - ROWS)]
UPLINK = [1] * ROWS + [0] * (N - ROWS)
TAG = f'pm{os.getpid() % 100000}'
HUB = TAG + 'h'
WHO = ['server', *range(N)]


def space(who):
    return f'{TAG}{"s" if who == "server" else who}'


def address(who):
    return f'10.78.0.{2 if who == "server" else 10 + who}'


def ip(*words, check=True):
    done = subprocess.run(['ip', *words], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise OSError(f'ip {" ".join(words)}: {done.stderr.strip()}')


def is_linked(a, b):
    if 'server' in (a, b):
        return UPLINK[b if a == 'server' else a] > 0
    return (min(a, b), max(a, b)) in LINKS


def cut(a, b, down=True):
    for x, y in ((a, b), (b, a)):
        ip('-n', space(x), 'route', 'add' if down else 'del', 'blackhole',
           address(y) + '/32')


def build_network():
    ip('netns', 'add', HUB)
    ip('-n', HUB, 'link', 'add', 'br0', 'type', 'bridge')
    ip('-n', HUB, 'link', 'set', 'br0', 'up')
    for who in WHO:
        ip('netns', 'add', space(who))
        ip('-n', HUB, 'link', 'add', space(who), 'type', 'veth', 'peer', 'name',
           'eth0', 'netns', space(who))
        ip('-n', HUB, 'link', 'set', space(who), 'master', 'br0', 'up')
        ip('-n', space(who), 'addr', 'add', address(who) + '/24', 'dev', 'eth0')
        ip('-n', space(who), 'link', 'set', 'eth0', 'up')
        ip('-n', space(who), 'link', 'set', 'lo', 'up')
    for k, a in enumerate(WHO):
        for b in WHO[k + 1:]:
            if not is_linked(a, b):
                cut(a, b)


def remove_network():
    for who in WHO:
        ip('netns', 'del', space(who), check=False)
    ip('netns', 'del', HUB, check=False)


def distances(links, uplinks):
    """Relays that each node needs, by a search of its own."""
    found, front, hops = {}, set(uplinks), 0
    while front:
        found.update({i: hops for i in front})
        front = {j for i, k in links for j in (i, k)
                 if j not in found and (i in front or k in front)}
        hops += 1
    return found


def expect_rounds(mesh, links, uplinks, phase):
    """Rounds come in which exactly those arrive that have a path."""
    want = distances(links, uplinks)
    last = mesh.wait_for(lambda found: want in found.values(), phase, 90)
    print(f'{phase}: in round {last} {len(want)} nodes arrive, over up to '
          f'{max(want.values())} relays')


def check():
    with Mesh(build, N, LINKS, UPLINK, hops=ROWS + COLUMNS, times=2000,
              host=address) as mesh:
        inside = lambda who: ['ip', 'netns', 'exec', space(who)]
        mesh.start_server(prefix=inside('server'), period=500)
        for i in range(N):
            mesh.start_node(i, prefix=inside(i))
        expect_rounds(mesh, LINKS, FIRST, 'all links')
        rails = [(ROWS + i, 2 * ROWS + i) for i in FIRST]
        for a, b in rails:
            cut(a, b)
        left = [link for link in LINKS if link not in rails]
        expect_rounds(mesh, left, FIRST, 'two columns cut from the rest')
        cut(*rails[-1], down=False)
        cut(0, 'server')
        left.append(rails[-1])
        expect_rounds(mesh, left, FIRST[1:], 'one link back, one uplink cut')
        expect(all(p.poll() is None for p in mesh.processes.values()), 'ended')


if subprocess.run(['ip', 'netns', 'add', HUB + 'x'],
                  capture_output=True).returncode != 0:
    print('SKIPPED: no right to make network namespaces')
    sys.exit(77)
ip('netns', 'del', HUB + 'x')
try:
    build_network()
    check()
finally:
    remove_network()
