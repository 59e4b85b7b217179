#!/usr/bin/env bash
# What the project promises about its own text: format, dependencies between
# modules, the names of exported symbols, that pages name what exists, and that
# every option is in the manual. $1: the build folder.
set -uo pipefail
cd "$(dirname "$0")/.."
build=$1
bad=0
complain() {
    echo "lint: $*"
    bad=1
}

sources=$(find include lib programs tests bench examples -name '*.[ch]')

# shellcheck disable=SC2086
clang-format --dry-run --Werror $sources 2>&1 | head -20
[ "${PIPESTATUS[0]}" -eq 0 ] || complain "clang-format would change the above"

for file in $sources; do
    head -1 "$file" | grep -q '^/\*' ||
        complain "$file does not open with what it is"
done

# Dependencies between modules, on the symbols of the objects.
/usr/bin/python3 tests/rooms.py "$build" || bad=1

# The pages: the length of lines, and that what they name exists.
/usr/bin/python3 tests/docs.py || bad=1

# The public headers: regular, and what the library exports.
/usr/bin/python3 tests/interface.py "$build" || bad=1

# SQL is for the study's room, and for the ledger, which is a database of its
# own. In the text of comments it is a word.
for file in $(find include lib programs bench examples -name '*.[ch]'); do
    case $file in
    lib/study/* | programs/fleet/ledger*.[ch]) continue ;;
    esac
    grep -nE 'sqlite3_|<sqlite3\.h>|"[^"]*\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b' \
        "$file" | sed "s|^|lint: $file has SQL: |" | grep . && bad=1
done

# Every verb and option of the programs stands in its manual page.
page_has() { # page word
    grep -q -- "$2" "$1" 2>/dev/null
}
for verb in $("$build"/pricer --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    page=man/pricer-$verb.1
    [ -f "$page" ] || { complain "$page is missing"; continue; }
    page_has man/pricer.1 "$verb" || complain "man/pricer.1 lacks $verb"
    for option in $("$build"/pricer "$verb" --help |
        sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'); do
        page_has "$page" "Fl -$option" || [ "$option" = help ] ||
            complain "$page lacks --$option"
    done
done
for program in pricer-server pricer-node; do
    for option in $("$build/$program" --help |
        sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'); do
        page_has "man/$program.1" "Fl -$option" || [ "$option" = help ] ||
            complain "man/$program.1 lacks --$option"
    done
done
for page in man/*.[0-9]; do
    messages=$(mandoc -T lint -W warning "$page" 2>&1)
    [ -z "$messages" ] || complain "$messages"
done

# The keys of a scenario stand in its manual page.
for key in $(sed -n 's/^    {"\([a-z.]*\)", PRI_KEY.*/\1/p' lib/read/keys.c); do
    page_has man/pricer-scenario.5 "$key" ||
        complain "man/pricer-scenario.5 lacks $key"
done
exit $bad
