#!/bin/sh
# Speaks the tests' protocol for the adapter: VERB SPOOL OUTBOX ARGS on a line in, "ok VALUE" or "error MESSAGE" on a line out. "-" as the
# spool leaves the folders to the environment.
set -uf
adapter=$(dirname "$0")/../trueup.sh
tab=$(printf '\t')
while IFS= read -r line; do
    IFS=$tab
    # shellcheck disable=SC2086 # the fields are separated by tabs
    set -- $line
    unset IFS
    verb=$1
    spool=$2 outbox=$3
    shift 3
    if [ "$spool" = - ]; then
        answer=$("$adapter" "$verb" "$@" 2>&1)
    else
        answer=$(TRUEUP_SPOOL=$spool TRUEUP_OUTBOX=$outbox "$adapter" "$verb" "$@" 2>&1)
    fi
    case $? in
        0) echo "ok ${answer:-true}" ;;
        1) echo "ok false" ;;
        2) echo "error $(echo "$answer" | tr '\n' ' ')" ;;
        *) exit 1 ;;
    esac
done
