#!/usr/bin/env python3
"""Run the commands of the pages and compare what they print with the pages.

    tests/cli/docs.py BUILD [--show] [PAGE...]

The pages are those of PAGES, unless some are named. Blocks marked `sh` are run in the order of the page, in an empty folder
with examples/ and data/ of the source tree and the build as build/. A block
marked `text` after one says what it prints: every line of it has to be among what
was printed, in that order, with runs of blanks counted as one and seconds not
compared; three dots stand for what is left out. A table behind the comment
<!-- printed --> is such a text, too. Where a program of the page needs what the
test does not have, the block is marked `sh skip`. A block without a mark would be
output that nobody compares, and is wrong.

A row of a table with the columns `to see it` and `prints` is run the same way:
each piece of code of the first is a command, each of the second part of a line
that they print. Equal commands are run once. The last column says `whole`, or
`in part` and why. A command that ends with (data) needs data sets that are not
here and is not run. --show prints what each block or row printed.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
BUILD = os.path.abspath(sys.argv[1])
PAGES = ['README.md', 'docs/tutorial.md', 'docs/sums.md', 'docs/following.md', 'docs/paper.md']


def blocks(text):
    """(line, mark, content) of every block, and of every table that is one."""
    for found in re.finditer(r'^```([^\n]*)\n(.*?)^```$|'
                             r'^<!-- printed -->\n((?:\|[^\n]*\n)+)', text,
                             re.S | re.M):
        mark, content, table = found.groups()
        yield (text.count('\n', 0, found.start()) + 1,
               'text' if table else mark.strip(), table or content)


def run(script, folder):
    """What a block prints, and the status of the command that ended it."""
    # Debian's Python comes first, for its NumPy.
    path = os.pathsep.join([BUILD, '/usr/bin', os.environ['PATH']])
    done = subprocess.run(['bash', '-eo', 'pipefail', '-c', script], cwd=folder,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          env=dict(os.environ, PATH=path))
    return done.stdout, done.returncode


def plain(line):
    """Without what differs from run to run: blanks and seconds."""
    return re.sub(r'\b[0-9][0-9.e+-]* s\b', 'SECONDS', ' '.join(line.split()))


def cells(line):
    return [cell.strip().replace('\\|', '|')
            for cell in re.split(r'(?<!\\)\|', line)[1:-1]]


def rows(text):
    """(line, commands, printed, state) of the rows that say what to run."""
    columns = None
    for number, line in enumerate(text.splitlines(), 1):
        found = cells(line) if line.startswith('|') else []
        if 'to see it' in found:
            columns = found.index('to see it'), found.index('prints')
        elif not found:
            columns = None
        elif columns and not set(line) <= set('|-: '):
            see, prints = (found[at] for at in columns)
            code = re.findall(r'`([^`]+)`', see)
            yield (number, [] if see.endswith('(data)') else code,
                   re.findall(r'`([^`]+)`', prints), found[-1])


def lacking(parts, printed):
    """The first part of a line that was not printed, or None."""
    # A text that stands below its row is part of it.
    printed = re.sub('\n    +', ' ', printed)
    lines = [plain(line) for line in printed.splitlines()]
    for part in parts:
        pattern = '.*'.join(re.escape(piece) for piece in part.split('...'))
        if not any(re.search(pattern, line) for line in lines):
            return part
    return None


def missing(said, printed):
    """The first line of what the page says that was not printed, or None."""
    lines = iter([plain(line) for line in printed.splitlines()])
    for line in said.splitlines():
        line = plain(line)
        if line in ('', '...'):
            continue
        pattern = '.*'.join(re.escape(part.strip()) for part in line.split('...'))
        if not any(re.fullmatch(pattern, other) for other in lines):
            return line
    return None


def check_blocks(page, text, folder, show, known):
    wrong = count = 0
    printed, where = None, 0
    for line, mark, content in blocks(text):
        if mark == 'sh':
            printed, status = run(content, folder)
            known[content.strip()] = printed, status
            where = line
            count += 1
            if show:
                print(f'--- {page}:{line}\n{content}{printed}')
            if status not in (0, 3):  # 3: an audit contradicts a claim
                wrong += 1
                print(f'{page}:{line}: exit status {status}\n{printed}')
        elif mark == '':
            wrong += 1
            print(f'{page}:{line}: a block without a mark: is it printed?')
        elif mark == 'text' and printed is not None:
            lost = missing(content, printed)
            if lost is not None:
                wrong += 1
                print(f'{page}:{line}: the commands of line {where} do not '
                      f'print\n    {lost}\nbut\n{printed}')
            printed = None
    return count, wrong


def check_rows(page, text, folder, show, known):
    wrong = count = 0
    for line, commands, parts, state in rows(text):
        printed = ''
        count += 1
        for command in commands:
            if command not in known:
                known[command] = run(command, folder)
            output, status = known[command]
            printed += output
            if status not in (0, 3):
                wrong += 1
                print(f'{page}:{line}: exit status {status}\n{output}')
        if show:
            print(f'--- {page}:{line}: {commands}\n{printed}')
        lost = lacking(parts, printed) if commands else None
        if lost is not None:
            wrong += 1
            print(f'{page}:{line}: the row does not print\n    {lost}\nbut\n'
                  f'{printed}')
        if commands and not parts:
            wrong += 1
            print(f'{page}:{line}: the row does not say what is printed')
        if not re.match(r'whole|in part: \w', state):
            wrong += 1
            print(f'{page}:{line}: neither whole nor in part: {state}')
    return count, wrong


def check(page, show):
    with open(os.path.join(ROOT, page), encoding='utf-8') as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for name in ('examples', 'data'):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        os.symlink(BUILD, os.path.join(folder, 'build'))
        known = {}  # command: what it printed, its status
        count, wrong = check_blocks(page, text, folder, show, known)
        lines, bad = check_rows(page, text, folder, show, known)
    print(f'{page}: {count} blocks and {lines} rows, {wrong + bad} wrong')
    return wrong + bad == 0 and count > 0


def main():
    pages = [word for word in sys.argv[2:] if not word.startswith('--')]
    good = [check(page, '--show' in sys.argv) for page in pages or PAGES]
    return not all(good)


if __name__ == '__main__':
    sys.exit(main())
