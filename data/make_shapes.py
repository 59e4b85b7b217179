#!/usr/bin/env python3
"""Draw the sample images of pricer: grey 28 x 28 pictures of ten shapes.

    data/make_shapes.py FOLDER

writes shapes-1000-images-idx3-ubyte.gz and shapes-1000-labels-idx1-ubyte.gz
into FOLDER, 100 images a shape. Position, size, angle, brightness and a little
noise vary from image to image. Only additions, multiplications and square roots
are used on the numbers of Python's own generator, so that every machine draws
the same bytes.
"""
import gzip
import math
import os
import random
import struct
import sys

SIDE = 28
COUNT = 1000
SEED = 20260


def length(x, y):
    return math.sqrt(x * x + y * y)


def outside(x, low, high):
    """How far x lies outside of the interval; negative inside."""
    return max(low - x, x - high)


# Each shape as a function of (x, y), about zero, of unit size: negative inside.
SHAPES = [
    ("disc", lambda x, y: length(x, y) - .9),
    ("ring", lambda x, y: abs(length(x, y) - .75) - .2),
    ("square", lambda x, y: max(abs(x), abs(y)) - .75),
    ("frame", lambda x, y: abs(max(abs(x), abs(y)) - .7) - .15),
    ("plus", lambda x, y: min(max(abs(x) - .22, abs(y) - .95),
                              max(abs(y) - .22, abs(x) - .95))),
    ("triangle", lambda x, y: max(y - .7, -y - .8 + 1.9 * abs(x))),
    ("bar", lambda x, y: max(abs(x) - .25, abs(y) - .98)),
    ("two bars", lambda x, y: max(abs(abs(x) - .55) - .22, abs(y) - .85)),
    ("half disc", lambda x, y: max(length(x, y) - .95, -y - .05)),
    ("corner", lambda x, y: min(max(outside(x, -.8, -.4), abs(y) - .8),
                                max(outside(y, .4, .8), abs(x) - .8))),
]


def draw(distance, chance):
    """One image of the shape with this distance function, as bytes."""
    size = 8 + 3 * chance.random()
    left = (SIDE - 1) / 2 + 3 * (chance.random() - .5)
    top = (SIDE - 1) / 2 + 3 * (chance.random() - .5)
    sine = .6 * (chance.random() - .5)
    cosine = math.sqrt(1 - sine * sine)
    bright = 150 + 90 * chance.random()
    pixels = bytearray()
    for row in range(SIDE):
        for column in range(SIDE):
            x, y = (column - left) / size, (row - top) / size
            edge = distance(cosine * x + sine * y, cosine * y - sine * x)
            cover = min(1., max(0., .5 - edge * size))
            noise = 1 + .2 * (chance.random() + chance.random() - 1)
            pixels.append(int(min(255., max(0., bright * cover * noise))))
    return bytes(pixels)


def make():
    """(images, labels) as the bytes of two IDX files."""
    chance = random.Random(SEED)
    images = struct.pack(">4I", 2051, COUNT, SIDE, SIDE)
    labels = struct.pack(">2I", 2049, COUNT)
    for number in range(COUNT):
        label = number * 7 % len(SHAPES)  # neighbours differ, as in a shuffled set
        images += draw(SHAPES[label][1], chance)
        labels += bytes([label])
    return images, labels


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_shapes.py FOLDER")
    for name, content in zip(("images-idx3", "labels-idx1"), make()):
        path = os.path.join(sys.argv[1], f"shapes-{COUNT}-{name}-ubyte.gz")
        with open(path, "wb") as file:
            file.write(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main()
