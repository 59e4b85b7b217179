#!/usr/bin/env bash
# Install into an empty folder and compile the examples in C against what is
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
for example in embed forward; do
    # shellcheck disable=SC2046
    cc -Wall -Wextra -Werror examples/$example.c -o "$folder/$example" \
        $(pkg-config --cflags --libs pricer) \
        -Wl,-rpath,"$(dirname "${library%/*}")"
done
for header in pricer pricer_decode pricer_study pricer_forward pricer_release pricer_audit pricer_kmeans \
    pricer_power pricer_reference pricer_input; do
    for language in 'c -std=c99' 'c++ -std=c++11'; do
        # shellcheck disable=SC2046,SC2086
        echo "#include <$header.h>" | cc -x $language -pedantic -Wall -Wextra \
            -Werror -fsyntax-only $(pkg-config --cflags pricer) - ||
            { echo "$header.h does not stand alone: $language"; exit 1; }
    done
done

# Python, from where it was installed.
say='import pricer; print(pricer.__file__, pricer.calibrate(1, 1e-5).guaranteed)'
package=$(find "$folder" -path '*dist-packages/pricer' -type d)
prefix=${package%/lib/python3/dist-packages/pricer}
said=$(cd "$folder" && PYTHONPATH=${package%/*} /usr/bin/python3 -c "$say")
[ "$said" = "$package/__init__.py True" ] || { echo "Python said: $said"; exit 1; }
# By pip, in an environment that has Debian's cffi and NumPy, but neither
# setuptools nor wheel, with and without build isolation. What is installed
# remembers the prefix; the source tree is left as it was.
/usr/bin/python3 -m venv --system-site-packages --without-pip "$folder/venv"
mkdir "$folder/without" "$folder/source"
for module in setuptools wheel; do
    echo "raise ImportError('$module is not there')" >"$folder/without/$module.py"
done
cp python/*.py python/*.toml "$folder/source"
mkdir "$folder/source/pricer"
cp python/pricer/*.py python/pricer/py.typed "$folder/source/pricer"
find "$folder/source" | sort >"$folder/before"
for isolation in --no-build-isolation --force-reinstall; do
    PYTHONPATH=$folder/without PRICER_PREFIX=$prefix PIP_NO_INDEX=1 \
        PYTHONDONTWRITEBYTECODE='' /usr/bin/python3 -m pip \
        --python "$folder/venv/bin/python" install --quiet $isolation --no-deps \
        --disable-pip-version-check --root-user-action=ignore "$folder/source"
    find "$folder/source" | sort | diff "$folder/before" - ||
        { echo "pip left files in the source tree"; exit 1; }
    said=$(cd "$folder" && env -u PRICER_PREFIX venv/bin/python -c \
        "$say; print(pricer._library.path)")
    case $said in
        "$folder"/venv/*/pricer/__init__.py\ True?"$prefix"/*libpricer.so.0) ;;
        *) echo "Python by pip said: $said"; exit 1 ;;
    esac
done
# A prefix that pip cannot find is an error at once, not at the first import.
if PRICER_PREFIX=elsewhere PIP_NO_INDEX=1 /usr/bin/python3 -m pip \
    --python "$folder/venv/bin/python" install --no-deps --force-reinstall \
    --disable-pip-version-check "$folder/source" >"$folder/said" 2>&1 ||
    ! grep -q 'PRICER_PREFIX=elsewhere is not' "$folder/said"; then
    echo "pip took a prefix without a library: $(cat "$folder/said")"
    exit 1
fi
out=$("$folder/embed")
echo "$out" | grep -q 'expected error' || { echo "embed said: $out"; exit 1; }
out=$("$folder/forward")
echo "$out" | grep -q '^2 relays, error at most 0.286153; estimate ' ||
    { echo "forward said: $out"; exit 1; }
for file in bin/pricer share/man/man1/pricer.1; do
    find "$folder" -path "*/$file" | grep -q . ||
        { echo "$file was not installed"; exit 1; }
done
