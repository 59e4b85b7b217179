"""Slow and greedy readers of the status page: requests that come byte by byte,
answers that nobody reads, and many more connections than there are places. Rounds
go on as they were, memory and descriptors stay bounded, the processor has rest,
and whoever asks in earnest is answered. A connection that is never idle is cut off
after 30 seconds, here by a clock that runs fast. Arguments: build folder."""
import os
import socket
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N, D, PERIOD = 3, 16, .2
SECONDS = 6
PLACES = 32     # connections that the page takes
MEMORY = 3      # MiB that it may take for all of them
LIFE = 30       # seconds that a connection has
FAST = 15       # so many times as fast runs the clock by which it has them


class Pest:
    """A connection to the page that is never done."""

    def __init__(self, fleet, kind, pause=1):
        self.kind, self.fleet, self.next, self.made = kind, fleet, 0, 0
        self.pause = pause
        self.open()

    def open(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self.socket.connect_ex(('127.0.0.1', self.fleet.status_port))
        self.made += 1
        self.words = list(b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ' + b'y' * 99)

    def step(self):
        """A byte now and then; as many requests as the socket takes; or nothing."""
        now = time.monotonic()
        try:
            if self.kind == 'drip' and now > self.next and self.words:
                self.socket.send(bytes(self.words[:1]))
                self.next = now + self.pause
                del self.words[0]
            elif self.kind == 'greed':
                self.socket.send(b'GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n' %
                                 [b'', b'metrics'][self.made % 2] * 99)
        except BlockingIOError:
            pass
        except OSError:     # cut off: it comes back
            self.socket.close()
            self.open()


def look(process):
    """MiB, descriptors, seconds of the processor."""
    with open(f'/proc/{process.pid}/status') as file:
        memory = next(int(line.split()[1]) for line in file
                      if line.startswith('VmRSS')) / 1024
    with open(f'/proc/{process.pid}/stat') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (memory, len(os.listdir(f'/proc/{process.pid}/fd')),
            (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK'))


def ask(fleet, path):
    begun = time.monotonic()
    try:
        status, text = fleet.get(path)
    except OSError as error:
        return None, repr(error), time.monotonic() - begun
    return status, text, time.monotonic() - begun


def test_life():
    """Whoever asks byte by byte has a place for LIFE seconds though others are
    free; no less, and hardly more."""
    with Fleet(build, nodes=N, dimension=D) as fleet:
        fleet.start_server('--port', str(fleet.status_port), prefix=[
            'env', f'ODD_CLOCK={FAST}', f'LD_PRELOAD={build}/tests/libodd.so'])
        fleet.wait_log('server', 'listening')
        pest, begun, end = Pest(fleet, 'drip', .1), time.monotonic(), None
        while end is None and time.monotonic() < begun + 3 * LIFE / FAST:
            pest.step()
            try:
                end = time.monotonic() if pest.socket.recv(1) == b'' else None
            except BlockingIOError:
                time.sleep(.02)
        expect(end is not None and pest.made == 1, 'it keeps its place')
        life = FAST * (end - begun)
        print(f'byte by byte: cut off after {life:.0f} s')
        expect(LIFE <= life < 1.5 * LIFE, f'{life} s of a place')
        expect(ask(fleet, '/metrics')[0] == 200, 'the page is gone')
        pest.socket.close()


test_life()
with Fleet(build, nodes=N, dimension=D) as fleet:
    for i in range(N):
        fleet.start_node(i)
    server = fleet.start_server('--period', '200', '--send', '50', '--share',
                                '120', '--uplink', '180', '--quorum', str(N),
                                '--port', str(fleet.status_port))
    fleet.wait_rounds(5)
    ask(fleet, '/')
    before, rounds = look(server), fleet.rounds()
    kinds = ['drip', 'greed', 'idle']
    pests = [Pest(fleet, kinds[k % 3]) for k in range(3 * PLACES)]
    begun, answers = time.monotonic(), []
    while time.monotonic() < begun + SECONDS:
        for _ in range(20):
            for pest in pests:
                pest.step()
            time.sleep(.05)
        answers += [ask(fleet, path) for path in ('/health', '/metrics')]
    took = time.monotonic() - begun
    after = look(server)
    done = fleet.rounds() - rounds
    full = fleet.query('SELECT count(*) FROM round WHERE arrived = ?', N)[0][0]
    slowest = max(seconds for _, _, seconds in answers)
    print(f'{len(pests)} readers for {took:.0f} s: {done} rounds, {full} full; '
          f'memory {before[0]:.1f} to {after[0]:.1f} MiB, {before[1]} to '
          f'{after[1]} descriptors, {after[2] - before[2]:.1f} s of the processor; '
          f'{len(answers)} answers, the slowest in {slowest:.2f} s; '
          f'{sum(pest.made for pest in pests)} connections')
    expect(server.poll() is None, fleet.log('server'))
    expect(done > .6 * took / PERIOD, f'{done} rounds in {took:.1f} s')
    expect(full > .4 * done, f'{full} full rounds of {done}')
    expect(after[0] - before[0] < MEMORY, 'memory')
    expect(after[1] - before[1] <= PLACES + 2, 'descriptors')
    expect(after[2] - before[2] < .5 * took, 'the processor has no rest')
    # 503 is an answer too, of /health on a busy machine.
    expect(all(status in (200, 503) for status, _, _ in answers),
           f'not answered: {[a[:2] for a in answers if a[0] != 200][:3]}')
    for pest in pests:
        pest.socket.close()
    fleet.wait_rounds(fleet.rounds() + 2)
    expect(ask(fleet, '/')[0] == 200, 'the page is gone')
    expect(fleet.stop('server') == 0, fleet.log('server'))
