#!/usr/bin/env python3
"""Run the commands of docs/paper.md and compare what they print with the page.

    tests/cli/docs.py BUILD [--show]

Blocks marked `sh` are run in the order of the page, in an empty folder with
examples/ and data/ of the source tree. A block marked `text` after one says what
it prints: every line of it has to be among what was printed, in that order, with
runs of blanks counted as one; three dots stand for what is left out. Where a
program of the page needs what the test does not have, the block is marked `sh
skip`. --show prints what each block printed.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.path.abspath(sys.argv[1])


def blocks(text):
    """(line, mark, content) of every block."""
    for found in re.finditer(r'^```([^\n]*)\n(.*?)^```$', text, re.S | re.M):
        yield (text.count('\n', 0, found.start()) + 1, found.group(1).strip(),
               found.group(2))


def run(script, folder):
    """What a block prints; the status of its last command is not asked, as an
    audit that contradicts a claim has one of its own."""
    path = os.pathsep.join([BUILD, os.environ['PATH']])
    done = subprocess.run(['bash', '-c', script], cwd=folder, text=True,
                          capture_output=True, env=dict(os.environ, PATH=path),
                          check=False)
    return done.stdout + done.stderr, done.returncode


def plain(line):
    return ' '.join(line.split())


def missing(said, printed):
    """The first line of what the page says that was not printed, or None."""
    lines = iter([plain(line) for line in printed.splitlines()])
    for line in said.splitlines():
        line = plain(line)
        if line in ('', '...'):
            continue
        pattern = '.*'.join(re.escape(part) for part in line.split('...'))
        if not any(re.fullmatch(pattern, other) for other in lines):
            return line
    return None


def check(page, show):
    wrong = count = 0
    printed, where = None, 0
    with open(os.path.join(ROOT, page), encoding='utf-8') as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for name in ('examples', 'data'):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        for line, mark, content in blocks(text):
            if mark == 'sh':
                printed, status = run(content, folder)
                where = line
                count += 1
                if show:
                    print(f'--- {page}:{line}\n{content}{printed}')
                if status not in (0, 3):
                    wrong += 1
                    print(f'{page}:{line}: exit status {status}\n{printed}')
            elif mark == 'text' and printed is not None:
                lost = missing(content, printed)
                if lost is not None:
                    wrong += 1
                    print(f'{page}:{line}: the commands of line {where} do not '
                          f'print\n    {lost}\nbut\n{printed}')
                printed = None
    print(f'{page}: {count} blocks run, {wrong} wrong')
    return wrong == 0 and count > 0


if __name__ == '__main__':
    sys.exit(not check('docs/paper.md', '--show' in sys.argv))
