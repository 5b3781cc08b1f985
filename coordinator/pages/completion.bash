# Completion of skipjack's command lines for bash. The functions below _skipjack_complete are made by
# `skipjack pages` from the program's own tables.
# shellcheck shell=bash

# Offers words that begin with $1. Of a list joined by commas ($3), the last part is completed.
_skipjack_offer() {
    local front=''
    if [[ ${3-} && $1 == *,* ]]; then
        front=${1%,*},
    fi
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$front" -W "$2" -- "${1#"$front"}")
}

# Offers what an option's value or an argument may be: $1 is the word so far, $2 a kind and words.
_skipjack_offer_kind() {
    local kind=${2%% *} words=''
    [[ $2 == *' '* ]] && words=${2#* }
    case $kind in
    words) _skipjack_offer "$1" "$words" ;;
    list) _skipjack_offer "$1" "$words" list && compopt -o nospace 2>/dev/null ;;
    networks | targets | campaigns)
        words="$words $(timeout 1 skipjack -q complete "$kind" 2>/dev/null)"
        _skipjack_offer "$1" "$words"
        ;;
    files)
        _skipjack_offer "$1" "$words"
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$1")
        ;;
    esac
}

_skipjack_complete() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} path='' verbs at word REPLY
    COMPREPLY=()
    # bash takes --option=value apart
    if [[ $current == '=' ]]; then
        current=''
        previous=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ $previous == '=' && $COMP_CWORD -gt 1 ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    # The command, and its verb if it has some: the first words that are no options.
    _skipjack_verbs ''
    verbs=$REPLY
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ -z $verbs ]]; then
            break
        elif [[ " $verbs " == *" $word "* ]]; then
            path=${path:+$path }$word
            _skipjack_verbs "$path"
            verbs=$REPLY
        fi
    done
    _skipjack_value "$path $previous"
    if [[ -n $path && $previous == -* && -n $REPLY ]]; then
        _skipjack_offer_kind "$current" "$REPLY"
    elif [[ $current == -* ]]; then
        _skipjack_options "$path"
        _skipjack_offer "$current" "${REPLY:---help --version --quiet}"
    elif [[ -n $verbs ]]; then
        _skipjack_offer "$current" "$verbs"
    else
        _skipjack_arguments "$path"
        _skipjack_offer_kind "$current" "$REPLY"
    fi
}
complete -F _skipjack_complete skipjack
