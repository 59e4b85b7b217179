#!/usr/bin/env bash
# Install into an empty folder and compile examples/embed.c against what is
# there, as a stranger would: headers, library and pkg-config file only. Each
# header also stands alone, in strict C99 and in C++. The Python package too, as
# installed and by pip.
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
for header in pricer pricer_decode pricer_study pricer_audit pricer_kmeans \
    pricer_power pricer_reference pricer_input; do
    for language in 'c -std=c99' 'c++ -std=c++11'; do
        # shellcheck disable=SC2046,SC2086
        echo "#include <$header.h>" | cc -x $language -pedantic -Wall -Wextra \
            -Werror -fsyntax-only $(pkg-config --cflags pricer) - ||
            { echo "$header.h does not stand alone: $language"; exit 1; }
    done
done

# Python, from where it was installed; and by pip, with no network, into a folder
# of its own.
say='import pricer; print(pricer.__file__, pricer.calibrate(1, 1e-5).guaranteed)'
package=$(find "$folder" -path '*dist-packages/pricer' -type d)
prefix=${package%/lib/python3/dist-packages/pricer}
said=$(cd "$folder" && PYTHONPATH=${package%/*} /usr/bin/python3 -c "$say")
[ "$said" = "$package/__init__.py True" ] || { echo "Python said: $said"; exit 1; }
cp -r python "$folder/source"
PIP_NO_INDEX=1 /usr/bin/python3 -m pip install --quiet --no-build-isolation \
    --no-deps --disable-pip-version-check --root-user-action=ignore \
    --target "$folder/pip" "$folder/source"
said=$(cd "$folder" && PRICER_PREFIX=$prefix PYTHONPATH=$folder/pip \
    /usr/bin/python3 -c "$say")
[ "$said" = "$folder/pip/pricer/__init__.py True" ] ||
    { echo "Python by pip said: $said"; exit 1; }
out=$("$folder/embed")
echo "$out" | grep -q 'expected error' || { echo "embed said: $out"; exit 1; }
for file in bin/pricer share/man/man1/pricer.1; do
    find "$folder" -path "*/$file" | grep -q . ||
        { echo "$file was not installed"; exit 1; }
done
