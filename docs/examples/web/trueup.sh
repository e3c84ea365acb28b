#!/bin/sh
# Asks the host for a run, and tells when what was committed before is live. To use it copy this one file; it needs jq 1.6 or
# newer. docs/web-adapter.md says when to call what, and why in this order.
#
#   trueup.sh request [TARGET...]          ask, for everything or the named targets alone, and print the ticket; after the commit
#   trueup.sh covered TICKET [TARGET...]   exit 0 when all that was committed before is live, everywhere or at least in the named
#                                          targets, and 1 when not
#   trueup.sh state TICKET [TARGET...]     print the word to show the user: asked, waiting (for the time between two runs to be
#                                          over), running, failing (it is tried again) or live
#   trueup.sh wait SECONDS TICKET [TARGET...]   covered, as soon as it is or the time is over
#
# TRUEUP_SPOOL and TRUEUP_OUTBOX name the folder that the host watches and the one in which it answers; in their absence they are
# /spool and /outbox. Exit 2 says that the host cannot be asked, or its answer not read: its next sweep reads the commit too.
set -u
export LC_ALL=C
spool=${TRUEUP_SPOOL:-/spool}
status=${TRUEUP_OUTBOX:-/outbox}/status.json

die() { echo "error: $*" >&2; exit 2; }

# query FILTER [jq's arguments]: of what the host shows. The file is replaced, never written to, so that it is always whole.
query() {
    filter=$1
    shift
    [ -r "$status" ] || die "reading $status: it is missing or closed to us; the outbox is to be mounted from the host"
    jq -nr "[inputs][0] | if .version > 1
        then error(\"it is of version \(.version), and 1 is known here; take the adapter of the host's trueup\")
        elif .version != 1 or ([.epoch, .state, .claims, .settled | type] != [\"string\", \"string\", \"number\", \"number\"])
        or ([.claims, .settled | . >= 0 and . < 1e15] != [true, true])
        then error(\"version, epoch, claims, settled or state is missing\") else . end | $filter" "$status" "$@" || die "reading $status"
}

# make FILE: it follows no link. One that is there asks as well, whoever made it; the host may take it between two looks.
make() {
    for _ in 1 2; do
        if [ -e "$1" ] || [ -L "$1" ] || why=$( (set -C && : >"$1") 2>&1); then return 0; fi
    done
    die "touching in the spool, which is to be mounted writable: $why"
}

request() {
    for name; do
        case $name in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._:@-]*) name= ;; esac
        if [ -z "$name" ] || [ ${#name} -gt 200 ]; then
            die "a target's name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit"
        fi
    done
    # Before the touch: a number read after it can be that of the very run it asked for, and only a later one would cover it.
    ticket=$(query '"\(.epoch):\(.claims)"') || exit
    if [ $# -eq 0 ]; then make "$spool/sentinel"; fi
    if [ $# -gt 0 ] && { [ -L "$spool/requests" ] || [ ! -d "$spool/requests" ]; }; then
        die "touching in the spool, which is to be mounted writable: $spool/requests is no folder"
    fi
    for name; do make "$spool/requests/$name"; done
    echo "$ticket"
}

# Under another epoch the host's numbers began anew: any success since covers what was asked before. A target that is not shown
# has settled nothing. A ticket that was made up is refused, since every success would cover it.
state() {
    [ $# -gt 0 ] || die "want a ticket"
    epoch=${1%%:*} number=${1#*:}
    case $epoch in *[!A-Z2-7]*) epoch= ;; esac
    case $number in *[!0-9]*) number= ;; esac
    if [ ${#epoch} -ne 10 ] || [ ${#number} -lt 1 ] || [ ${#number} -gt 15 ]; then
        die "ticket \"$1\": want EPOCH:N, as request prints it"
    fi
    shift
    # shellcheck disable=SC2016 # jq's own variables
    query '(if .epoch == $epoch then $n else 0 end) as $least
        | [.targets[$ARGS.positional[]].settled | if type == "number" and . < 1e15 then . else 0 end] as $own
        | if .settled > $least or ($own != [] and ($own | min) > $least) then "live"
        elif .state == "idle" then "asked" else .state end' \
        --arg epoch "$epoch" --argjson n "$number" --args "$@"
}

covered() { word=$(state "$@") || exit; [ "$word" = live ]; }

await() {
    left=$1
    shift
    until covered "$@"; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 1
    done
}

verb=${1:-}
case $verb in
    request | covered | state) shift && "$verb" "$@" ;;
    wait) shift && await "$@" ;;
    *) die "want request, covered, state or wait" ;;
esac
