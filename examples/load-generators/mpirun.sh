#!/bin/bash
# Four load generators as one run: URL=postgres://user@host/db examples/load-generators/mpirun.sh --hostfile hosts
# The exit code is that of the run. OUT must be a folder that all hosts share.
set -euo pipefail

: "${URL:?set URL to the database, such as postgres://user@host/db}"
OUT=${OUT:-$PWD/highwater-runs}

exec mpirun -n "${SHARES:-4}" "$@" highwater run cpu "$URL" --rate "${RATE:-200k}" -d "${DURATION:-5m}" \
    --share auto -o "$OUT"
