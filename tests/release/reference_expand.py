#!/usr/bin/env python3
"""Directions of seeds by the text of docs/release.md, one number at a time.

    tests/release/reference_expand.py > tests/release/reference_expand.h

Shares nothing with lib/release/expand.c: AES from its standard, Python's floats
for IEEE arithmetic. Prints BLAKE2b hashes of the little-endian doubles.
"""
import hashlib
import math
import struct

CASES = [(0, 2), (1, 3), (2, 17), (3, 129), (4, 512), (5, 513), (6, 1537),
         (7, 10001)]


def make_box():
    """The S-box: inverses in GF(2^8), then an affine map."""
    power, log, x = [0] * 256, [0] * 256, 1
    for k in range(255):
        power[k], log[x] = x, k
        x ^= (x << 1) ^ (0x11b if x & 0x80 else 0)
        x &= 0xff
    box = []
    for a in range(256):
        b = power[(255 - log[a]) % 255] if a else 0
        c = 0x63
        for turn in range(5):
            c ^= ((b << turn) | (b >> (8 - turn))) & 0xff
        box.append(c)
    return box


BOX = make_box()


def double(x):
    return ((x << 1) ^ (0x1b if x & 0x80 else 0)) & 0xff


def round_keys(key):
    words, factor = [list(key[4 * k:4 * k + 4]) for k in range(4)], 1
    for k in range(4, 44):
        word = list(words[k - 1])
        if k % 4 == 0:
            word = [BOX[b] for b in word[1:] + word[:1]]
            word[0] ^= factor
            factor = double(factor)
        words.append([a ^ b for a, b in zip(words[k - 4], word)])
    return [sum(words[4 * r:4 * r + 4], []) for r in range(11)]


def encrypt(keys, block):
    state = [a ^ b for a, b in zip(block, keys[0])]
    for r in range(1, 11):
        state = [BOX[state[(k + 4 * (k % 4)) % 16]] for k in range(16)]
        if r < 10:
            mixed = []
            for c in range(0, 16, 4):
                a = state[c:c + 4]
                for k in range(4):
                    x, y = a[k], a[(k + 1) % 4]
                    mixed.append(double(x) ^ double(y) ^ y ^ a[(k + 2) % 4] ^
                                 a[(k + 3) % 4])
            state = mixed
        state = [a ^ b for a, b in zip(state, keys[r])]
    return bytes(state)


def keystream(seed, count):
    """So many 64-bit words."""
    keys = round_keys(seed)
    text = b''.join(encrypt(keys, k.to_bytes(16, 'big'))
                    for k in range((count + 1) // 2))
    return struct.unpack('<%dQ' % count, text[:8 * count])


def bits_of(x):
    return struct.unpack('<Q', struct.pack('<d', x))[0]


def number_of(bits):
    return struct.unpack('<d', struct.pack('<Q', bits))[0]


F = float.fromhex
LOG = [F(x) for x in (
    '0x1.55555555553b8p-1', '0x1.9999999b8687fp-2', '0x1.2492462ae4140p-2',
    '0x1.c71fccea8352bp-3', '0x1.7382d90ac879fp-3', '0x1.546a5dad7ecf1p-3')]
SINE = [F(x) for x in (
    '0x1.921fb54442d18p-1', '0x1.4abbce625be41p-4', '0x1.466bc677587f8p-9',
    '0x1.32d2cce2e5b19p-15', '0x1.50782fda12d96p-22', '0x1.e30071afc3e59p-30',
    '0x1.e3f38399551bfp-38')]
COSINE = [F(x) for x in (
    '0x1p+0', '0x1.3bd3cc9be458bp-2', '0x1.03c1f081b0780p-6',
    '0x1.55d3c7dbfd139p-12', '0x1.e1f4fb60281f6p-19', '0x1.a6c9c1be9eb49p-26',
    '0x1.f3dbcea61b1a4p-34')]
LOG_2 = F('0x1.62e42fefa39efp-1')
ROOT_HALF = 0x3fe6a09e667f3bcd


def square_radius(word):
    number = word >> 1
    y = (float(number >> 32 << 32) + (float(number & 0xffffffff) + .5)) * 2.**-64
    argument = 1. - y if word & 1 else y
    offset = bits_of(argument) - ROOT_HALF
    e = offset >> 52
    scaled = number_of((offset & 0xfffffffffffff) + ROOT_HALF)
    f = -y if e == 0 else scaled - 1.
    s = f / (2. + f)
    z = s * s
    zz = z * z
    total = ((LOG[5] * z + LOG[4]) * zz + (LOG[3] * z + LOG[2])) * zz + \
        (LOG[1] * z + LOG[0])
    log = s * 2. + s * (z * total)
    return (float(e) * LOG_2 + log) * -2.


def alternating(c, z):
    zz = z * z
    return ((c[6] * zz + (c[4] - z * c[5])) * zz + (c[2] - z * c[3])) * zz + \
        (c[0] - z * c[1])


def circle(word):
    g = number_of(word >> 12 | 0x4000000000000000) - 3.
    z = g * g
    cosine, sine = alternating(COSINE, z), alternating(SINE, z) * g
    if word & 1:
        cosine = -cosine
    return (sine, cosine) if word & 2 else (cosine, sine)


def normals(seed, count, stream):
    groups = (count + 15) // 16
    words = stream(seed, 16 * groups)
    result = []
    for k in range(0, 16 * groups, 16):
        first, second = [], []
        for l in range(8):
            r = math.sqrt(square_radius(words[k + l]))
            a, b = circle(words[k + 8 + l])
            first.append(r * a)
            second.append(r * b)
        result += first + second
    return result[:count] + [0.] * (16 * groups - count)


def sum_of_squares(values):
    """Chunks of 512 in 16 lanes, then pairwise."""
    sums = []
    for k in range(0, len(values), 512):
        lane = [0.] * 16
        for i, x in enumerate(values[k:k + 512]):
            lane[i % 16] += x * x
        while len(lane) > 1:
            half = len(lane) // 2
            lane = [lane[i] + lane[i + half] for i in range(half)]
        sums.append(lane[0])
    parts = []  # (size, sum): equal sizes are joined
    for x in sums:
        size = 1
        while parts and parts[-1][0] == size:
            x = parts.pop()[1] + x
            size *= 2
        parts.append((size, x))
    total = 0.
    for _, x in reversed(parts):
        total = x + total
    return total


def direction(seed, count, stream=keystream):
    values = normals(seed, count, stream)
    factor = 1 / math.sqrt(sum_of_squares(values))
    return [x * factor for x in values[:count]]


def main():
    print('/*\n * Hashes of directions: made by reference_expand.py.\n */')
    print('static const struct {\n    unsigned char seed[16];\n'
          '    int64_t count;\n    const char *hash;\n} reference[] = {')
    for case, count in CASES:
        seed = hashlib.blake2b(b'seed %d' % case, digest_size=16).digest()
        text = struct.pack('<%dd' % count, *direction(seed, count))
        print('    {{%s},\n     %d,\n     "%s"},' % (
            ', '.join('%d' % b for b in seed), count,
            hashlib.blake2b(text, digest_size=16).hexdigest()))
    print('};')


if __name__ == '__main__':
    main()
