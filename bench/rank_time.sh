#!/usr/bin/env bash
# Run one rank of a job and leave its processor seconds in FOLDER/rank.N.
#
#     bench/rank_time.sh FOLDER COMMAND...
folder=$1
shift
TIMEFORMAT='%U %S'
{ time "$@" 2>&3; } 3>&2 2>"$folder/time.${OMPI_COMM_WORLD_RANK:=0}"
status=$?
awk '{ print $1 + $2 }' "$folder/time.$OMPI_COMM_WORLD_RANK" \
    >"$folder/rank.$OMPI_COMM_WORLD_RANK"
exit $status
