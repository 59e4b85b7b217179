#!/usr/bin/env bash
# Every test there is: the release build, the same under ASAN and UBSAN, lint,
# and an install that a program outside the tree compiles against. Prints each
# step and closes with 'N passed, N failed, N skipped'. With names of tests, such as
# cli/forward, only these, in the release build.
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0 skipped=0

# One step that passes or fails as a whole.
step() {
    local name=$1
    shift
    local started=$SECONDS
    if "$@"; then
        passed=$((passed + 1))
        echo "ok    $name ($((SECONDS - started)) s)"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
    fi
}

configure_and_build() {
    local folder=$1
    shift
    [ -f "$folder/build.ninja" ] || meson setup "$folder" "$@" >/dev/null ||
        return 1
    ninja -C "$folder" --quiet all test-programs
}

# Run tests of a build and add up what meson counted.
suite() {
    local folder=$1 started=$SECONDS output
    shift
    output=$(meson test -C "$folder" --print-errorlogs --no-rebuild "$@" 2>&1)
    local ok bad
    ok=$(sed -n 's/^Ok: *\([0-9]*\).*/\1/p' <<<"$output")
    bad=$(awk '/^(Fail|Unexpected Pass|Timeout): /{n += $NF} END{print n + 0}' \
        <<<"$output")
    local missed
    missed=$(sed -n 's/^Skipped: *\([0-9]*\).*/\1/p' <<<"$output")
    [ -n "$ok" ] || { bad=1; ok=0; }
    [ "$bad" -eq 0 ] || echo "$output"
    passed=$((passed + ok)) failed=$((failed + bad))
    skipped=$((skipped + ${missed:-0}))
    grep -h '^skipped: ' "$folder"/meson-logs/testlog.txt | sort -u
    echo "ran   $folder $*: $ok ok, $bad failed ($((SECONDS - started)) s)"
}

# The tests of a build, in two steps. Fleets have deadlines and wait for them most of
# their time: four at once, and nothing beside them. Of the others some wait now and
# then: one more than there are processors.
fleets() {
    suite "$1" --suite fleet --num-processes 4
}
others() {
    suite "$1" --no-suite fleet --num-processes $(($(nproc) + 1))
}

# The closing line; fails if a test did.
close() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# Only line numbers to debug by, which compile faster. Not less optimisation: the
# engines of the simulator take three times as long with -O1. The ranks are not run
# here.
build_sanitized() {
    configure_and_build build-asan --buildtype=plain -Doptimization=2 \
        -Db_sanitize=address,undefined -Db_lundef=false -Dmpi=disabled \
        -Dc_args="-g1 -fno-sanitize-recover=all"
}
build_for_races() {
    [ -f build-tsan/build.ninja ] || CC=clang meson setup build-tsan \
        --buildtype=plain -Doptimization=2 -Db_sanitize=thread \
        -Db_lundef=false -Dmpi=disabled -Dc_args=-g1 >/dev/null || return 1
    ninja -C build-tsan --quiet tests/test_threads tests/test_base_team \
        tests/test_transport_crowd tests/test_forward_round
}

# GCC's OpenMP is opaque to the race detector; clang's comes with a library
# (archer) that explains its barriers to it.
archer=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | head -1)
command -v clang >/dev/null || archer=

# A folder of its own, in which the optional parts are required: build/ may have been
# configured before they were installed.
step "build" configure_and_build build-check --buildtype=release -Dmpi=enabled -Darb=enabled
if [ $# -gt 0 ]; then
    suite build-check "$@"
    close
    exit
fi
fleets build-check
# The builds that come later fill the processors where tests wait, scheduled so that
# any test that wakes goes first. Their steps say what became of them.
set -m
(
    chrt --idle --pid 0 "$BASHPID"
    build_sanitized
    [ -z "$archer" ] || build_for_races
) >/dev/null 2>&1 &
ahead=$!
set +m
trap 'kill -- -"$ahead" 2>/dev/null' EXIT
others build-check
step "lint" tests/lint.sh build-check
step "install and embed" tests/install.sh build-check
wait "$ahead"
step "build with sanitizers" build_sanitized
fleets build-asan
others build-asan

# Data races.
races() {
    build_for_races || return 1
    for program in base_team transport_crowd forward_round; do
        "build-tsan/tests/test_$program" >build-tsan/races.log 2>&1 ||
            { tail -40 build-tsan/races.log; return 1; }
    done
    OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
        build-tsan/tests/test_threads >build-tsan/races.log 2>&1 ||
        { tail -40 build-tsan/races.log; return 1; }
}
if [ -n "$archer" ]; then
    step "race detector" races
else
    skipped=$((skipped + 1))
    echo "skipped: race detector (clang and libomp-dev are not installed)"
fi
close
