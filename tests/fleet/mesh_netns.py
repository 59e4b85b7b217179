"""A mesh in network namespaces: a ladder of ten nodes of which the first two reach
the server, and no packet of IP passes between any pair without a link. Nodes at
the far end are heard over four relays; links are really cut and restored, and who
arrives is who has a path. Needs the right to make namespaces; else it is skipped
with a reason. Arguments: build folder."""
import os
import subprocess
import sys

from fleet import expect
from mesh_fleet import Mesh

build = sys.argv[1]
COLUMNS = 5
N = 2 * COLUMNS
LINKS = [(2 * c, 2 * c + 1) for c in range(COLUMNS)] + \
    [(i, i + 2) for i in range(N - 2)]
UPLINK = [1, 1] + [0] * (N - 2)
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
    with Mesh(build, N, LINKS, UPLINK, hops=6, times=2000, host=address) as mesh:
        inside = lambda who: ['ip', 'netns', 'exec', space(who)]
        mesh.start_server(prefix=inside('server'), period=500)
        for i in range(N):
            mesh.start_node(i, prefix=inside(i))
        expect_rounds(mesh, LINKS, [0, 1], 'all links')
        cut(2, 4)
        cut(3, 5)
        left = [link for link in LINKS if link not in ((2, 4), (3, 5))]
        expect_rounds(mesh, left, [0, 1], 'both rails cut')
        cut(3, 5, down=False)
        cut(0, 'server')
        left.append((3, 5))
        expect_rounds(mesh, left, [1], 'one rail back, one uplink cut')
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
