"""Draw the modules and who uses whom, for docs/architecture.md.

    draw(files, uses, order, words) -> {path: text}

order: all rooms; words: what each does, at most LETTERS of them.

docs/architecture.svg: the rooms in layers, an arrow from a room to each that
uses it; arrows that follow from others are left out.
"""
import itertools

BASE = 'lib/base'  # used by nearly all: drawn as a bar, without arrows
BOX, HIGH = 202, 56  # a room
GAP, SLOT = 28, 30  # between rooms of a layer; what a passing arrow takes
LIFT = 50  # between layers
WIDE = 1000
MARGIN = 24
LETTERS = 28  # that fit into a room

STYLE = '''<style>
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.name { font-weight: 600; font-size: 15px }
.side { fill: #59636e; font-size: 11px }
.page { fill: #ffffff }
.band { fill: #f3f5f8 }
.room { fill: #ffffff; stroke: #4a6fa5; stroke-width: 1.4 }
.program { fill: #ffffff; stroke: #a5694a; stroke-width: 1.4 }
.bar { fill: #dfe8f5; stroke: #4a6fa5; stroke-width: 1.4 }
.way { fill: none; stroke: #6b7785; stroke-width: 1.5 }
.head { fill: #6b7785 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.side { fill: #9aa5b1 }
.page { fill: #0d1117 }
.band { fill: #161b22 }
.room { fill: #0d1117; stroke: #7ea6dd }
.program { fill: #0d1117; stroke: #dd9f7e }
.bar { fill: #1c2a3f; stroke: #7ea6dd }
.way { stroke: #9aa5b1 }
.head { fill: #9aa5b1 }
}
</style>'''


def room_of(file):
    return file.rsplit('/', 1)[0]


def users(uses):
    """(user, used) -> how many files of the one room use the other."""
    found = {}
    for a in uses:
        for b in uses[a]:
            if uses[a][b] and room_of(a) != room_of(b):
                found.setdefault((room_of(a), room_of(b)), set()).add(a)
    return {pair: len(found[pair]) for pair in found}


def reduce(rooms, edges):
    """The edges (before, after) that do not follow from others."""
    after = {room: {b for a, b in edges if a == room} for room in rooms}
    reach = {}
    for room in reversed(rooms):
        reach[room] = set().union(after[room], *(reach[b] for b in after[room]))
    return [(a, b) for a, b in edges
            if not any(b in reach[c] for c in after[a] if c != b)]


def levels_of(rooms, edges):
    """A layer for every room below all that it uses, arrows short in sum."""
    level = {}
    for room in rooms:
        level[room] = max((level[a] + 1 for a, b in edges if b == room),
                          default=0)
    last = max(level.values())

    def length(level):
        return sum(level[b] - level[a] for a, b in edges)

    def lowered(room):
        """One layer further down, pushing on what stands in the way."""
        moved, todo = dict(level), [room]
        while todo:
            now = todo.pop()
            moved[now] += 1
            todo += [b for a, b in edges if a == now and moved[b] <= moved[now]]
        return moved

    better = True
    while better:
        better = False
        for room in reversed(rooms):
            moved = lowered(room)
            if max(moved.values()) <= last and length(moved) < length(level):
                level, better = moved, True
    return level


def layers_of(rooms, edges, level):
    """The layers with a slot for every arrow that passes through one, and the
    arrows cut into pieces from layer to layer."""
    layers = [[room for room in rooms if level[room] == k]
              for k in range(max(level.values()) + 1)]
    pieces, ways = [], []
    for a, b in edges:
        stops = [a]
        for k in range(level[a] + 1, level[b]):
            stops.append((a, b, k))
            layers[k].append(stops[-1])
        stops.append(b)
        ways.append(stops)
        pieces += zip(stops, stops[1:])
    return layers, pieces, ways


def width_of(item):
    return BOX if isinstance(item, str) else SLOT


def spread(layer):
    """The middle of everything in a layer, the layer in the middle."""
    wide = sum(width_of(item) + GAP for item in layer) - GAP
    at, middles = (WIDE - wide) // 2, {}
    for item in layer:
        middles[item] = at + width_of(item) // 2
        at += width_of(item) + GAP
    return middles


def untangle(layers, pieces):
    """Order every layer so that few arrows cross and none goes far."""
    place = {}
    for layer in layers:
        place.update(spread(layer))

    def cost(trial, near):
        ends = [(trial.get(a, place[a]), trial.get(b, place[b]))
                for a, b in near]
        crossed = sum((a - c) * (b - d) < 0 for (a, b), (c, d)
                      in itertools.combinations(ends, 2))
        return 1000 * crossed + sum(abs(a - b) for a, b in ends)

    for _ in range(8):
        for k, layer in enumerate(layers):
            near = [(a, b) for a, b in pieces if a in layer or b in layer]
            layers[k] = list(min(itertools.permutations(layer),
                                 key=lambda one: cost(spread(one), near)))
            place.update(spread(layers[k]))
    for _ in range(8):
        for layer in layers:
            settle(layer, pieces, place)
    return place


def settle(layer, pieces, place):
    """Move a layer as a whole to where its arrows are straightest."""
    pulls = [place[b] - place[a] if a in layer else place[a] - place[b]
             for a, b in pieces if a in layer or b in layer]
    first, last = layer[0], layer[-1]
    least = MARGIN + width_of(first) // 2 - place[first]
    most = WIDE - MARGIN - width_of(last) // 2 - place[last]
    move = sum(pulls) // len(pulls) if pulls else 0
    for item in layer:
        place[item] += max(least, min(most, move))


def box(x, y, room, words, count):
    kind = 'room' if room.startswith('lib/') else 'program'
    left = x - BOX // 2
    return ['<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="7"/>' %
            (kind, left, y, BOX, HIGH),
            '<text class="name" x="%d" y="%d">%s</text>' %
            (left + 12, y + 23, room.split('/')[1]),
            '<text class="side" x="%d" y="%d" text-anchor="end">%s</text>' %
            (left + BOX - 12, y + 23, plural(count)),
            '<text x="%d" y="%d">%s</text>' % (left + 12, y + 43, words)]


def plural(count):
    return '%d file%s' % (count, '' if count == 1 else 's')


def arrow(stops, place, top, shift):
    """A line through the middles of its stops; `shift` keeps arrows that leave
    or reach one room apart."""
    x, y = place[stops[0]] + shift[0], top[stops[0]] + HIGH
    path = 'M%d %d' % (x, y)
    for k, stop in enumerate(stops[1:], 1):
        end = k == len(stops) - 1
        tx, ty = place[stop] + (shift[1] if end else 0), top[stop]
        ty -= 7 * end
        path += ' C%d %d %d %d %d %d' % (x, (y + ty) // 2, tx, (y + ty) // 2,
                                         tx, ty)
        x, y = tx, ty
        if not end:
            y += HIGH
            path += ' V%d' % y
    return ['<path class="way" d="%s"/>' % path,
            '<path class="head" d="M%d %d l-5 -9 h10 z"/>' % (x, y + 7)]


def shifts(ways, place):
    """How far from the middle of its rooms each arrow begins and ends."""
    out, into = {}, {}
    for way in ways:
        out.setdefault(way[0], []).append(way)
        into.setdefault(way[-1], []).append(way)

    def beside(group, way, neighbour):
        group = sorted(group, key=lambda one: place[one[neighbour]])
        return 24 * group.index(way) - 12 * (len(group) - 1)

    return [(beside(out[way[0]], way, 1), beside(into[way[-1]], way, -2))
            for way in ways]


def band(rooms, pairs, words, counts, y):
    """The rooms of lib/ or of programs/ in layers, from y on down."""
    edges = reduce(rooms, [(a, b) for a in rooms for b in rooms
                           if (b, a) in pairs])
    level = levels_of(rooms, edges)
    layers, pieces, ways = layers_of(rooms, edges, level)
    place = untangle(layers, pieces)
    top = {item: y + k * (HIGH + LIFT)
           for k, layer in enumerate(layers) for item in layer}
    parts = []
    for way, shift in zip(ways, shifts(ways, place)):
        parts += arrow(way, place, top, shift)
    for room in rooms:
        parts += box(place[room], top[room], room, words[room], counts[room])
    return parts, y + len(layers) * (HIGH + LIFT) - LIFT


def bar(y, text, side):
    return ['<rect class="bar" x="%d" y="%d" width="%d" height="36" rx="7"/>' %
            (MARGIN, y, WIDE - 2 * MARGIN),
            '<text class="name" x="40" y="%d">%s</text>' % (y + 23, text),
            '<text x="%d" y="%d" text-anchor="end">%s</text>' %
            (WIDE - 40, y + 23, side)]


def page(title, wide, high, parts):
    return '\n'.join(
        ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
         'viewBox="0 0 %d %d" role="img">' % (wide, high, wide, high),
         '<title>%s</title>' % title, STYLE,
         '<rect class="page" width="%d" height="%d"/>' % (wide, high)] +
        parts + ['</svg>', ''])


def ground(y, end, text):
    """What the rooms of a folder stand on, from y to end, with its name."""
    return ['<rect class="band" x="8" y="%d" width="%d" height="%d" rx="12"/>' %
            (y, WIDE - 16, end - y),
            '<text class="side" x="%d" y="%d">%s</text>' % (MARGIN, y + 22, text)]


def draw_layers(order, pairs, words, counts):
    lib = [r for r in order if r.startswith('lib/') and r != BASE]
    programs = [r for r in order if not r.startswith('lib/')]
    upper, end = band(lib, pairs, words, counts, 104)
    door = end + 36
    lower, last = band(programs, pairs, words, counts, door + 76)
    return page('The rooms of pricer', WIDE, last + 28, [
        *ground(8, end + 16, 'lib/, the library. An arrow leads from a room to '
                'one that uses it; arrows that follow from others are left out.'),
        *bar(40, 'base', words[BASE] + '; nearly every room stands on it'),
        *bar(door, 'include/', 'the public headers: all that programs know of '
             'the library'),
        *ground(door + 56, last + 20, 'programs/'), *upper, *lower])


def draw(files, uses, order, words):
    counts = {room: sum(room_of(file) == room for file in files)
              for room in order}
    pairs = users(uses)
    return {'docs/architecture.svg': draw_layers(order, pairs, words, counts)}
