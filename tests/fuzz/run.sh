#!/bin/sh
# Fuzz each reader for so many seconds with libFuzzer, ASAN and UBSAN:
#
#     tests/fuzz/run.sh SECONDS [NAME...]
#
# Needs clang (Debian: clang, libclang-rt-14-dev, libomp-dev). It works
# in FUZZ_DIR (build-fuzz in the project): what was learnt stays in
# FUZZ_DIR/corpus/NAME, smallest inputs that cover the same code, and crashes in
# FUZZ_DIR/found. The exit status is 1 if anything was found. The table names
# for each reader the executions, the edges covered, and the findings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seconds=${1:?usage: run.sh SECONDS [NAME...]}
shift
work=${FUZZ_DIR:-$root/build-fuzz}
if [ $# -eq 0 ]; then
    set -- nodes links survey weights npy idx cifar text scenario study wire feed trust mesh
fi
if [ ! -f "$work/build.ninja" ]; then
    CC=clang meson setup "$work" "$root" -Dfuzz=true -Db_lundef=false \
        -Db_sanitize=address,undefined --buildtype=debugoptimized >/dev/null
fi
targets=
for name in "$@"; do
    targets="$targets tests/fuzz/fuzz_$name"
done
# shellcheck disable=SC2086
ninja -C "$work" $targets >"$work/build.log" || {
    tail -20 "$work/build.log" >&2
    exit 1
}
mkdir -p "$work/found"
# OpenMP and SQLite keep memory until the end; neither is a leak of ours to
# find, and both stay reachable, so leak detection needs no suppressions.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
printf '%-10s %12s %10s %8s %8s %10s\n' \
    reader executions 'per s' edges inputs findings
status=0
for name in "$@"; do
    mkdir -p "$work/corpus/$name" "$work/merged"
    before=$(find "$work/found" -name "$name-*" | wc -l)
    words="$here/$name.dict"
    log="$work/$name.log"
    "$work/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=65536 \
        -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="$work/found/$name-" \
        ${words:+$([ -f "$words" ] && echo "-dict=$words")} \
        "$work/corpus/$name" "$here/corpus/$name" >"$log" 2>&1 || status=1
    # Keep the smallest set of inputs that covers as much.
    rm -rf "$work/merged"
    mkdir "$work/merged"
    "$work/tests/fuzz/fuzz_$name" -merge=1 -max_len=65536 -timeout=20 \
        "$work/merged" "$here/corpus/$name" "$work/corpus/$name" \
        >"$work/$name-merge.log" 2>&1 || true
    if [ -n "$(ls "$work/merged")" ]; then
        rm -rf "$work/corpus/$name"
        mv "$work/merged" "$work/corpus/$name"
    fi
    after=$(find "$work/found" -name "$name-*" | wc -l)
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    printf '%-10s %12s %10s %8s %8s %10s\n' "$name" "${runs:--}" "${rate:--}" \
        "${edges:--}" "$(find "$work/corpus/$name" -type f | wc -l)" \
        "$((after - before))"
done
exit $status
