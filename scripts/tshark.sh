#!/bin/sh
# For `make test`: tshark, by which some tests have captures read. A clean machine
# of CI's, where we are root, gets it here; elsewhere the tests are skipped without it.
command -v tshark >/dev/null 2>&1 && exit 0
{ [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; } || exit 0
echo "installing tshark for the tests" >&2
export DEBIAN_FRONTEND=noninteractive
{ apt-get -qq update && apt-get -qq install --yes --no-install-recommends tshark; } \
    >/dev/null 2>&1 || echo "tshark could not be installed: the tests with it are skipped" >&2
