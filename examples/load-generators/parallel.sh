#!/bin/bash
# Four load generators as one run, by GNU parallel, which needs ssh only:
#   URL=postgres://user@host/db examples/load-generators/parallel.sh --sshlogin host1,host2,host3,host4
# The exit code is 0, or the number of load generators that failed. OUT must be a folder that all hosts share.
set -euo pipefail

: "${URL:?set URL to the database, such as postgres://user@host/db}"
OUT=${OUT:-$PWD/highwater-runs}
SHARES=${SHARES:-4}

seq "$SHARES" | parallel --jobs "$SHARES" --line-buffer "$@" \
    highwater run cpu "$URL" --rate "${RATE:-200k}" -d "${DURATION:-5m}" --share "{}/$SHARES" -o "$OUT"
