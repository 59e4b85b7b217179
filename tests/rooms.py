#!/usr/bin/env python3
"""Check the dependencies between modules on the symbols that the compiler saw.

    tests/rooms.py BUILD           complain about what breaks a rule
    tests/rooms.py BUILD --draw    draw docs/architecture.svg

The rules, for lib/ and programs/:
  - a module uses only modules before it, and only programs/ uses programs/;
  - a module is used through its header, lib/MODULE/MODULE.h, or the public
    headers: whatever symbol another module uses is declared there, and no other
    header of the module is included from outside;
  - no two files need each other, directly or indirectly;
  - no tag and no macro is defined in two headers;
  - docs/architecture.md says of every module what it does.
Tests may include any header.
"""
import collections
import glob
import os
import re
import subprocess
import sys

import draw_rooms

LIB = ['base', 'random', 'read', 'network', 'calibrate', 'release', 'plan',
       'optimise', 'observe', 'privacy', 'account', 'round', 'forward',
       'decode', 'simulate', 'audit',
       'kmeans', 'power', 'study']
PROGRAMS = ['common', 'page', 'transport', 'fleet', 'mesh', 'cli', 'mpi']
ORDER = ['lib/' + room for room in LIB] + \
        ['programs/' + room for room in PROGRAMS]
DEFINED = set('TDRBVWi')

complaints = []


def complain(text):
    complaints.append(text)
    print('lint: ' + text)


def room_of(path):
    return os.path.dirname(path)


def objects(build):
    """Every object of the library and the programs, as (source, path)."""
    for folder in ('libpricer_core.a.p', 'libpricer_parts.a.p', 'pricer.p',
                   'pricer-mpi.p', 'pricer-server.p', 'pricer-node.p'):
        for path in glob.glob(os.path.join(build, folder, '*.o')):
            name = os.path.basename(path)[:-2]
            yield re.sub(r'^(lib|programs)_([a-z]+)_', r'\1/\2/', name), path


def symbols(paths):
    """For each object what it defines for others, and what it needs of them."""
    found = {path: (set(), set()) for path in paths}
    out = subprocess.run(['nm', '--print-file-name', *paths], capture_output=True,
                         text=True, check=True).stdout
    for line in out.splitlines():
        path, rest = line.split(':', 1)
        kind, name = rest.split()[-2:]
        defined, needed = found[path]
        if kind == 'U':
            needed.add(name)
        elif kind in DEFINED and name != 'main':
            defined.add(name)
    return found


def read_graph(build):
    """uses[a][b] = the symbols of file b that file a uses."""
    home, needs = {}, {}
    sources = list(objects(build))
    found = symbols([path for _, path in sources])
    for source, path in sources:
        defined, needed = found[path]
        for name in defined:
            home.setdefault(name, source)
        needs[source] = needed
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    for source, needed in needs.items():
        for name in needed:
            if home.get(name, source) != source:
                uses[source][home[name]].add(name)
    return needs.keys(), uses


def check_order(uses):
    for a in sorted(uses):
        for b in sorted(uses[a]):
            if ORDER.index(room_of(a)) < ORDER.index(room_of(b)):
                complain('%s uses %s of %s, a room after its own' %
                         (a, ', '.join(sorted(uses[a][b])), b))


def check_cycles(files, uses):
    """Depth first; an edge back to a file on the way here closes a cycle."""
    state = {}

    def visit(file, way):
        state[file] = 'open'
        for other in sorted(uses[file]):
            if room_of(other) != room_of(file):
                continue
            if state.get(other) == 'open':
                complain('%s need each other' % ' and '.join(
                    way[way.index(other):] if other in way else [file, other]))
            elif other not in state:
                visit(other, way + [other])
        state[file] = 'done'

    for file in sorted(files):
        if file not in state:
            visit(file, [file])


def check_doors(uses):
    public = ''.join(open(path).read() for path in glob.glob('include/*.h'))
    doors = {}
    for room in LIB:
        path = 'lib/%s/%s.h' % (room, room)
        if not os.path.exists(path):
            complain('%s, the door of its room, is missing' % path)
            continue
        doors['lib/' + room] = open(path).read() + public
    for a in sorted(uses):
        for b in sorted(uses[a]):
            if room_of(a) == room_of(b) or room_of(b) not in doors:
                continue
            for name in sorted(uses[a][b]):
                if not re.search(r'\b%s\b' % name, doors[room_of(b)]):
                    complain('%s uses %s, which is not in the door of %s' %
                             (a, name, room_of(b)))


def check_includes():
    for path in glob.glob('lib/*/*.[ch]') + \
            glob.glob('programs/**/*.[ch]', recursive=True):
        for name in re.findall(r'^#include "(.*)"', open(path).read(), re.M):
            if '/' not in name:
                continue
            room, header = name.split('/', 1)
            if room in LIB and header != room + '.h':
                complain('%s includes %s past the door of lib/%s' %
                         (path, name, room))


def check_definitions():
    """Tags by structs, unions and enums with a body; macros by #define."""
    tags, macros = collections.defaultdict(set), collections.defaultdict(set)
    for path in glob.glob('include/*.h') + glob.glob('lib/*/*.[ch]') + \
            glob.glob('programs/**/*.[ch]', recursive=True):
        text = re.sub(r'/\*.*?\*/', '', open(path).read(), flags=re.S)
        for tag in re.findall(r'\b(?:struct|union|enum) (\w+)\s*\{', text):
            if path.endswith('.h'):
                tags[tag].add(path)
        for macro in re.findall(r'^#define (\w+)', text, re.M):
            if path.endswith('.h'):
                macros[macro].add(path)
    for what, found in (('tag', tags), ('macro', macros)):
        for name, paths in sorted(found.items()):
            if len(paths) > 1:
                complain('the %s %s is defined in %s' %
                         (what, name, ' and '.join(sorted(paths))))


def read_words():
    """What each room does, from the first two columns of the page's table."""
    text = open('docs/architecture.md').read()
    words = dict(re.findall(r'^\| ((?:lib|programs)/\w+) \| (.*?) \|', text, re.M))
    for room in ORDER:
        if len(words.setdefault(room, '?' * 99)) > draw_rooms.LETTERS:
            complain('docs/architecture.md does not say what %s does, in at '
                     'most %d letters' % (room, draw_rooms.LETTERS))
    for room in words:
        if room not in ORDER:
            complain('docs/architecture.md has %s, which is no room' % room)
    return words


def write_drawings(files, uses):
    for path, text in draw_rooms.draw(files, uses, ORDER, read_words()).items():
        with open(path, 'w') as file:
            file.write(text)


def main():
    build = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    files, uses = read_graph(build)
    if '--draw' in sys.argv[2:]:
        write_drawings(files, uses)
        return 1 if complaints else 0
    check_order(uses)
    check_cycles(files, uses)
    check_doors(uses)
    check_includes()
    check_definitions()
    read_words()
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
