"""Peers that have a key and misuse it: whatever they send, the log of a daemon grows
by a bounded number of lines, and a server cannot make a node connect to machines of
others again and again. Arguments: build folder."""
import copy
import hashlib
import os
import sys
import threading
import time

import msgpack

from fleet import Fleet, expect, free_ports, take
from talk import (HELLO, REFUSAL, RESULT, SLICE, as_node, as_server, learn_slice)

build = sys.argv[1]
N, D = 3, 8
FLOOD = 12000       # messages of a kind
BATCH = 1000        # at once; five times a second, which is below the quota
LARGEST = 20000     # bytes of a log: 20 lines of every kind that is provoked
OUT = -2            # where a slice has its out-links
HOSTILE = 2


def flood(talk, messages):
    for first in range(0, len(messages), BATCH):
        started = time.monotonic()
        talk.send(*messages[first:first + BATCH])
        talk.read(0)
        time.sleep(max(0, started + .2 - time.monotonic()))


def size(fleet, name):
    return os.path.getsize(fleet.path(name + '.log'))


def test_server_log():
    """REFUSALs that are never twice the same."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.start_server()
        fleet.wait_log('server', 'listening at ')
        talk = as_node(fleet, HOSTILE)
        flood(talk, [[2, REFUSAL, k, 4 + k % 2, k % N] for k in range(FLOOD)])
        talk.send([2, HELLO, b'', 0, False, 1, 1, [], 0])
        talk.until(SLICE)   # all before it was looked at
        found = size(fleet, 'server')
        expect(found < LARGEST, f'{found} bytes in the log of the server')
        log = fleet.log('server', 10 ** 6)
        expect('from now on one line like this every 60 s' in log, log)
        return found


def learn(fleet):
    """The slice of node 0, from a server that is then gone."""
    fleet.start_server()
    fleet.wait_log('server', 'listening at ')
    found = learn_slice(fleet, 0)
    fleet.stop('server')
    return found


def take_over(fleet):
    """Be the server of node 0, which has just been started."""
    talk = as_server(fleet, 0)
    talk.until(HELLO)
    return talk


def settle(talk, slice_):
    """All that was sent is done when the node has this slice, which is new."""
    slice_ = copy.deepcopy(slice_)
    slice_[2] += 10 ** 6
    talk.send(slice_)
    end = time.monotonic() + 30
    digest = hashlib.blake2b(msgpack.packb(slice_), digest_size=16).digest()
    while talk.until(HELLO)[2] != digest:
        expect(time.monotonic() < end, 'the node does not take its slice')


def test_node_log():
    """RESULTs without an estimate, slices that are none, slices of another node and
    good ones that take turns."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        slice_ = learn(fleet)
        fleet.start_node(0, '--estimate', fleet.path('estimate.npy'))
        talk = take_over(fleet)
        other, next_ = copy.deepcopy(slice_), copy.deepcopy(slice_)
        other[3] = 1
        next_[2] += 1
        settle(talk, slice_)
        flood(talk, [[2, RESULT, k, 0, 0, 0, 0., b''] for k in range(FLOOD)])
        flood(talk, [[2, SLICE, k] for k in range(FLOOD)])
        flood(talk, [other] * FLOOD)
        flood(talk, [slice_, next_] * BATCH)
        settle(talk, next_)
        found = size(fleet, 'node0')
        expect(found < LARGEST, f'{found} bytes in the log of the node')
        return found


class Victim:
    """Somebody else's machine: counts who connects, and hangs up."""

    def __init__(self):
        self.ports, self.count = free_ports(2), 0
        self.seen = threading.Event()
        for port in self.ports:
            listener = take(('127.0.0.1', port))
            threading.Thread(target=self.serve, args=(listener,),
                             daemon=True).start()

    def serve(self, listener):
        while True:
            listener.accept()[0].close()
            self.count += 1
            self.seen.set()

    def address(self, k):
        return f'tcp://127.0.0.1:{self.ports[k % 2]}'


def test_connections():
    """Slices that send a node to somebody else, now under one address and now under
    another: a few connections, and none to a neighbour that it does not trust."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        slice_, slices, found = learn(fleet), [], {}
        stranger = fleet.run('pricer', 'keygen', fleet.path('x')).stdout.strip()
        arguments = fleet.node_arguments(0)
        arguments.remove('--first-seen')
        for case, key in (('trusted', fleet.keys[1]), ('stranger', stranger)):
            fleet.write('0.trust', 'to,eps,delta,key\n0,inf,1,\n1,inf,1,' + key +
                        '\n')
            victim, slices = Victim(), []
            for k in range(100):
                slices.append(copy.deepcopy(slice_))
                slices[k][2] += k
                slices[k][OUT] = slices[k][OUT][:1]     # to node 1
                slices[k][OUT][0][2] = victim.address(k)
            fleet.spawn('node0', arguments)
            talk = take_over(fleet)
            for one in slices:
                victim.seen.clear()
                talk.send(one)
                talk.read(0)
                victim.seen.wait(.05)   # for one that is made to connect
            settle(talk, slices[-1])
            found[case] = victim.count
            fleet.stop('node0')
            talk.socket.close()
        # Two for each row and eight, and attempts to reach the last one again.
        expect(1 <= found['trusted'] <= 2 * 2 + 8 + 20 and
               found['stranger'] == 0,
               f'{found} connections to somebody else')
        return found


for test in (test_server_log, test_node_log, test_connections):
    started = time.monotonic()
    print(f'{test.__name__}: {test()} ({time.monotonic() - started:.1f} s)')
