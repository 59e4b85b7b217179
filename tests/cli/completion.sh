#!/usr/bin/env bash
# Completion in bash: what pressing Tab offers. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$(realpath "$1"):$PATH
# shellcheck source=/dev/null
. "$here"/programs/cli/completion.bash
bad=0

# offer EXPECTED WORDS...: completing the last word offers what is expected.
offer() {
    local expected=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    if [ "$1" = pricer ]; then _pricer; else _pricer_daemon "$1"; fi
    case " ${COMPREPLY[*]} " in
    *" $expected "*) ;;
    *) echo "FAILED: '$*' offers '${COMPREPLY[*]}', expected '$expected'"
        bad=1 ;;
    esac
}
offer new pricer ne
offer import pricer im
offer --min-p pricer import --m
offer export pricer ""
offer --force pricer new --f
offer --json pricer show --
offer audit pricer a
offer fleet pricer fl
offer --addresses pricer fleet --a
offer --confidence pricer audit --c
offer paper pricer audit --claim p
offer --version pricer-server --v
offer --ledger-show pricer-node --led
cd "$here" || exit 1
offer README.md pricer new READ
offer README.md pricer-node --config READ
exit $bad
