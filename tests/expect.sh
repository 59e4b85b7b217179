# What the scripts that run the programs share: fail and expect. Source it; end
# the script with `exit $bad`.
# shellcheck shell=bash
bad=0

# fail WORDS...: say what is wrong, and go on.
fail() {
    echo "FAILED: $*"
    bad=1
}

# expect STATUS WORDS COMMAND...: the exit status, and words in what is printed.
expect() {
    local status=$1 words=$2 output got
    shift 2
    output=$("$@" 2>&1)
    got=$?
    [ "$got" -eq "$status" ] || fail "$* exited $got, expected $status: $output"
    grep -qF -- "$words" <<<"$output" || fail "$* did not say '$words': $output"
}
