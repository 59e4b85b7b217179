"""The key and the tag of a packet, from docs/protocol.md, section 10, alone.

Curve25519 as RFC 7748 and RFC 8032 have it, in Python's integers; BLAKE2b from
hashlib. Prints the known answers of tests/transport/packet_key.c.
"""
import hashlib

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P


def edwards_add(a, b):
    x1, y1, x2, y2 = *a, *b
    k = D * x1 * x2 * y1 * y2 % P
    return ((x1 * y2 + x2 * y1) * pow(1 + k, P - 2, P) % P,
            (y1 * y2 + x1 * x2) * pow(1 - k, P - 2, P) % P)


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x if x % 2 == 0 else P - x, y)


def scalar(seed):
    bits = bytearray(hashlib.sha512(seed).digest()[:32])
    bits[0] &= 248
    bits[31] = bits[31] & 127 | 64
    return int.from_bytes(bits, 'little')


def public_key(seed):
    point, total, k = base_point(), (0, 1), scalar(seed)
    while k:
        if k & 1:
            total = edwards_add(total, point)
        point, k = edwards_add(point, point), k >> 1
    return (total[1] | (total[0] & 1) << 255).to_bytes(32, 'little')


def ladder(k, u):
    x2, z2, x3, z3 = 1, 0, u, 1
    for t in reversed(range(255)):
        if k >> t & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        e = a * a - b * b
        x3, z3 = (d * a + c * b)**2 % P, u * (d * a - c * b)**2 % P
        x2, z2 = a * a * b * b % P, e * (a * a + 121665 * e) % P
        if k >> t & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return x2 * pow(z2, P - 2, P) % P


def packet_key(seed, other, node, server):
    y = int.from_bytes(other, 'little') & (1 << 255) - 1
    u = (1 + y) * pow(1 - y, P - 2, P) % P
    shared = ladder(scalar(seed), u).to_bytes(32, 'little')
    return hashlib.blake2b(b'pricer: key of packets' + shared + node + server,
                           digest_size=32).digest()


def packet_tag(key, study, plan, reference, node, round_, kind, payload):
    number = lambda n: n.to_bytes(8, 'big')
    return hashlib.blake2b(
        b'pricer: packet' + study + plan + number(reference) + number(node) +
        number(round_) + bytes([kind]) + number(len(payload)) + payload,
        key=key, digest_size=16).digest()


def main():
    for case in range(3):
        check(case)


def check(case):
    node_seed, server_seed = bytes([case + 1]) * 32, bytes([101 + case]) * 32
    node, server = public_key(node_seed), public_key(server_seed)
    key = packet_key(node_seed, server, node, server)
    assert key == packet_key(server_seed, node, node, server)
    tag = packet_tag(key, bytes(range(16)), bytes(range(100, 116)), case * 1000,
                     7 + case, 2**40 + case, 1 + case % 2,
                     bytes(range(16 * (case + 1))))
    print(key.hex(), tag.hex())


if __name__ == '__main__':
    main()
