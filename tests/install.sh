#!/usr/bin/env bash
# Install into an empty folder and compile examples/embed.c against what is
# there, as a stranger would: headers, library and pkg-config file only. Each
# header also stands alone, in strict C99 and in C++.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DESTDIR="$folder" meson install -C "$build" --quiet --no-rebuild
library=$(find "$folder" -name pricer.pc)
[ -n "$library" ] || { echo "no pkg-config file was installed"; exit 1; }
export PKG_CONFIG_PATH=${library%/*} PKG_CONFIG_SYSROOT_DIR=$folder
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror examples/embed.c -o "$folder/embed" \
    $(pkg-config --cflags --libs pricer) \
    -Wl,-rpath,"$(dirname "${library%/*}")"
for header in pricer pricer_study pricer_audit pricer_kmeans; do
    for language in 'c -std=c99' 'c++ -std=c++11'; do
        # shellcheck disable=SC2046,SC2086
        echo "#include <$header.h>" | cc -x $language -pedantic -Wall -Wextra \
            -Werror -fsyntax-only $(pkg-config --cflags pricer) - ||
            { echo "$header.h does not stand alone: $language"; exit 1; }
    done
done
out=$("$folder/embed")
echo "$out" | grep -q 'expected error' || { echo "embed said: $out"; exit 1; }
for file in bin/pricer share/man/man1/pricer.1; do
    find "$folder" -path "*/$file" | grep -q . ||
        { echo "$file was not installed"; exit 1; }
done
