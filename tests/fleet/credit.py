"""Every packet counts as heard: no server and no trust file can lower a charge by
saying that packets are lost. A server written from docs/protocol.md claims that
its relay hears a packet with probability 1e-9, as slices once could, and opens 120
rounds; the relay counts what it hears. Arguments: build folder."""
import math
import sys

from fleet import expect
from one_node import D, DATA, SLICE, SPENT, Server

build = sys.argv[1]
EPS, DELTA, ROUNDS, NOISE = 5.5, 1e-5, 120, 3.0
MU = 2 * .5 / NOISE


def delta(eps, mu):
    """Of a Gaussian release of ratio mu."""
    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2
    return phi(mu / 2 - eps / mu) - math.exp(eps) * phi(-mu / 2 - eps / mu)


def allowed():
    """The most releases that the budget holds."""
    count = 0
    while delta(EPS, MU * math.sqrt(count + 1)) <= DELTA:
        count += 1
    return count


def test_trust_file():
    """A trust file that lets lost packets count less is refused, by line."""
    with Server(build) as server:
        server.start_node('to,eps,delta,credit\n0,inf,1,none\n'
                          f'1,{EPS},{DELTA},losses\n')
        server.node.wait(20)
        server.log.seek(0)
        text = server.log.read()
        expect(server.node.returncode == 1 and 'trust:3: credit' in text and
               "'losses'" in text, text)


def test_rounds():
    """A column that says 'none' is as good as none. The slice of old with a
    probability is not taken; what leaves afterwards is within the budget."""
    with Server(build) as server:
        server.start_node('to,eps,delta,credit\n0,inf,1,none\n'
                          f'1,{EPS},{DELTA},none\n')
        server.until('HELLO', lambda: server.hello is not None)
        server.plan = 1
        old = server.send(SLICE, 1, 0, 2, D, 1.0, -30, 2 ** 50, ROUNDS, True,
                          bytes([1] * 16), [0.0, 0.0, 0],
                          [[1, server.peer_key, server.address(1), .5, NOISE,
                            1e-9, b'']], [])
        server.hello = None
        server.until('HELLO', lambda: server.hello is not None)
        expect(server.hello[0] != old, 'the slice with a probability is taken')
        hello = server.slice(1, ROUNDS, NOISE)
        expect(hello[3] == allowed(), f'{hello[3]} rounds left, not {allowed()}')
        parts = [server.run_round(1, 1 + k) for k in range(ROUNDS)]
        heard = parts.count(DATA)
        expect(parts == [DATA] * heard + [SPENT] * (ROUNDS - heard), f'{parts}')
        expect(0 < heard == allowed() < ROUNDS, f'{heard}, not {allowed()}')
        print(f'{heard} of {ROUNDS} releases heard, eps {EPS}, p claimed 1e-9')
        server.stop()


test_trust_file()
test_rounds()
