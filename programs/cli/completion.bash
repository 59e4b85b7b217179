# Completion of pricer for bash: verbs and options as the program itself lists
# them, so that this file never lags behind.
_pricer() {
    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} before choices
    before=${COMP_WORDS[COMP_CWORD - 1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        choices=$(pricer --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$choices --help --version" -- "$word")
        return
    fi
    if [[ $before == --* ]]; then
        choices=$(pricer "$verb" --help 2>/dev/null |
            sed -n "s/^  $before \([a-z0-9|-]*\)\( .*\)\{0,1\}\$/\1/p")
        if [[ $choices == *'|'* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$word")
            return
        fi
    fi
    if [[ $word == -* ]]; then
        choices=$(pricer "$verb" --help 2>/dev/null |
            sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
# The daemons have options only.
_pricer_daemon() {
    local word=${COMP_WORDS[COMP_CWORD]} choices
    if [[ $word == -* ]]; then
        choices=$("$1" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _pricer pricer
complete -o filenames -F _pricer_daemon pricer-server pricer-node
