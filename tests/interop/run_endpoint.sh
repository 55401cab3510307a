#!/bin/sh
set -e

# Set up the routing needed for the simulation.
/setup.sh

case "$TESTCASE" in
    handshake | transfer) ;;
    *) exit 127 ;;
esac
# A container may write to its own folders.
echo "$ROLE on $(hostname)" > notes
if [ "$ROLE" = client ]; then
    /wait-for-it.sh sim:57832 -s -t 30
    if [ "$CLIENT_PARAMS" = lazy ]; then
        exit 0
    fi
fi
exec ./endpoint "$ROLE"
