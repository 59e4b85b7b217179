"""Releases of the kind `sphere` by the text of docs/release.md: the law, what T
rounds of it cost, and the sampler.

Shares nothing with lib/release. For tests: the sampler is not protected against
observers who measure its time.
"""
import math
import os
import struct

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import reference_expand

UNIT = 2.0 ** -53


def keystream(seed, count):
    """As that of reference_expand, by a library: a thousand times as fast."""
    cipher = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor()
    return struct.unpack('<%dQ' % count, cipher.update(bytes(8 * count)))


def direction(seed, count):
    return reference_expand.direction(seed, count, keystream)


class Law:
    """The numbers of "The law" and "What is not quite uniform", for dimension d,
    threshold t and loss e0."""

    def __init__(self, d, t, e0):
        k = d + 1
        if not (d >= 1 and 2.0 ** -20 / math.sqrt(k) <= t < 1 - 2.0 ** -30 and
                0 < e0 <= 12 and (e0 * 2.0 ** 40).is_integer()):
            raise ValueError('no sphere has these parameters')
        self.d, self.t, self.e0 = d, t, e0
        self.q, self.g, density = cap(k, t)
        keep = math.exp(-e0)
        self.success = self.q + (1 - self.q) * keep  # A: a try is accepted
        self.p = self.q / self.success
        self.m = self.g * (1 - keep) / self.success
        self.tries = math.ceil(44 / -math.log1p(-self.success))
        moved = (82 + t * (119 + 2 * math.sqrt(k))) * UNIT
        self.dq = 2 * (3 * 2.0 ** -64 * (k + 16) / 2 + 1.01 * density * moved)
        self.charge = (1 - keep) * self.dq * (
            self.p / self.q + (self.tries - 1) / (1 - self.success))

    def variance(self, length):
        """E|y - x|^2 for |x| = length, in units of the radius."""
        b = self.d * (1 - self.t * self.m) / ((self.d + 1) * self.m ** 2)
        return b + length ** 2 * (self.t / self.m - 1)

    def delta(self, eps, rounds):
        """Claim: `rounds` releases are (eps, delta)-private. Proof: docs/release.md,
        "Several rounds". The last factor is more than rounding takes: all terms are
        positive, and each is right to some `rounds` units of the last place."""
        eps -= rounds * self.charge
        up = self.p * (1 + 2 * self.dq / self.q)
        down = self.p * math.exp(-self.e0) * (1 - 2 * self.dq / self.q)
        one, law = np.array([down, 1 - up - down, up]), np.ones(1)
        for _ in range(rounds):
            law = np.convolve(law, one)
        loss = self.e0 * np.arange(-rounds, rounds + 1)
        return float(law @ np.maximum(0, -np.expm1(eps - loss))) * (1 + 1e-11)


def cap(k, t):
    """q, g and the density of <V,u> at t, V uniform on the sphere of R^k. With
    <V,u> = cos(a) the density of a is sin(a)^(k-2) / total."""
    log_total = .5 * math.log(math.pi) + math.lgamma((k - 1) / 2) - \
        math.lgamma(k / 2)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    angle = math.acos(t)
    a = angle * (nodes + 1) / 2
    q = angle / 2 * weights @ np.exp((k - 2) * np.log(np.sin(a)) - log_total)
    log_sine = .5 * math.log1p(-t * t)
    return (float(q), math.exp((k - 1) * log_sine - log_total) / (k - 1),
            math.exp((k - 3) * log_sine - log_total))


def lifted(x, radius):
    """The unit vector u of x, which is clipped to the radius."""
    x = np.asarray(x, float) / radius
    if not np.isfinite(x).all():
        raise ValueError('the vector is not finite')
    length = np.linalg.norm(x)
    x = x / length if length > 1 else x
    u = np.append(x, math.sqrt(max(0, 1 - float(x @ x))))
    return np.rint(u * 2.0 ** 52) * 2.0 ** -52


def coin_threshold(e0):
    """2^64 exp(-e0), rounded up. exp is right to one unit of the last place, and
    the factor covers two."""
    return math.ceil(2.0 ** 64 * math.exp(-e0) * (1 + 4 * UNIT))


def sample(law, x, radius, random=os.urandom):
    """A seed; None where no try was accepted, once in 10^19 releases."""
    u, coin = lifted(x, radius), coin_threshold(law.e0)
    for _ in range(law.tries):
        drawn = random(24)
        kept = int.from_bytes(drawn[:8], 'little') < coin
        inside = float(np.dot(direction(drawn[8:], law.d + 1), u)) > law.t
        if kept | inside:
            return drawn[8:]
    return None


def vector(seed, law, radius):
    """What the server makes of a seed."""
    return radius / law.m * np.array(direction(seed, law.d + 1)[:law.d])
