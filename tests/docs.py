#!/usr/bin/env python3
"""Check what the pages say of the code: docs/*.md, README.md, tests/README.md.

    tests/docs.py

  - lines of docs/ have at most 100 characters; rows of tables, which cannot be
    broken, only in docs/mathematics.md;
  - a path into the tree exists (lib/plan/verify.c, docs/*.md);
  - a name in backticks exists in the sources: one that begins with pricer_ or
    pri_, and any other with an underscore; so does every name of an expression
    such as `plan->weight`;
  - what is said to be in a file is there: `name` in `lib/x/y.c`, or
    (`name`, lib/x/y.c);
  - docs/mathematics.md names every function that a header of lib/observe,
    lib/privacy or lib/account declares, but those that only hold memory or sort
    questions.
"""
import glob
import os
import re
import sys

LIMIT = 100
FOLDERS = ('bench|data|docs|examples|include|lib|man|packaging|programs|python|'
           'tests')
PATH = r'(?<![\w/.*-])((?:%s)/[\w./*@-]*[\w/*])' % FOLDERS
NAME = r'[A-Za-z]\w*'

complaints = 0


def complain(page, line, text):
    global complaints
    complaints += 1
    print('lint: %s:%d: %s' % (page, line, text))


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def known_names():
    """Every word of the sources, and the names of their files."""
    words = set()
    for pattern in ('include/*.h', 'lib/*/*.[ch]', 'programs/**/*.[ch]',
                    'tests/**/*.[ch]', 'bench/*.[ch]', 'python/pricer/*.py'):
        for path in glob.glob(pattern, recursive=True):
            words.update(re.findall(r'\w+', read(path)))
            words.add(os.path.basename(path).rsplit('.')[0])
    return words


def check_length(page, number, line):
    table = line.startswith('|') and page != 'docs/mathematics.md'
    if page.startswith('docs/') and len(line) > LIMIT and not table:
        complain(page, number, '%d characters, limit %d' % (len(line), LIMIT))


def check_paths(page, number, line):
    line = re.sub(r'\w+://\S+|\]\([^)]*\)', '', line)
    for path in re.findall(PATH, line):
        if not glob.glob(path):
            complain(page, number, '%s does not exist' % path)


def check_names(page, number, line, known):
    for span in re.findall(r'`([^`]+)`', line):
        if re.search(r'[/ ]', span) and not re.match(r'(struct|enum) ', span):
            continue  # a path, a command
        for name in re.findall(r'(?<![\w-])%s' % NAME, span):
            if '_' in name.strip('_') and name not in known:
                complain(page, number, '`%s` does not exist' % name)


def check_places(page, text):
    """`name` in `path` and (`name`, path), over the end of a line too."""
    for found in re.finditer(r'`(\w+)`(?:,|\s+in)\s+`?(lib/[\w/]+\.[ch])', text):
        name, path = found.groups()
        if os.path.exists(path) and not re.search(r'\b%s\b' % name, read(path)):
            complain(page, text.count('\n', 0, found.start()) + 1,
                     '%s is not in %s' % (name, path))


def check_proofs():
    page = 'docs/mathematics.md'
    named = set(re.findall(r'`(\w+)`', read(page)))
    for path in sorted(sum((glob.glob('lib/%s/*.h' % room) for room in
                            ('observe', 'privacy', 'account')), [])):
        code = re.sub(r'/\*.*?\*/', '', read(path), flags=re.S)
        for name in sorted(set(re.findall(r'\b(pri_\w+)\(', code)) - named):
            if not re.search(r'_(new|free|reserve|check|reads|hears|member)$', name):
                complain(page, 1, '%s declares %s, which has no proof here' %
                         (path, name))


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    known = known_names()
    for page in sorted(glob.glob('docs/*.md')) + ['README.md', 'tests/README.md']:
        text, code = read(page), False
        for number, line in enumerate(text.splitlines(), 1):
            check_length(page, number, line)
            code ^= line.startswith('```')
            check_paths(page, number, line)
            if not code:
                check_names(page, number, line, known)
        check_places(page, text)
    check_proofs()
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
