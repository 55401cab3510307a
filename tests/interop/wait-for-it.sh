#!/bin/sh
# Ends when something listens, after so many seconds as a failure.
exec python3 -c 'import socket, sys; socket.create_connection(sys.argv[1].split(":"), 30)' "$1"
