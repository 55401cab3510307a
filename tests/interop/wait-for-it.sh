#!/bin/sh
# Ends when the port is open; fails after so many seconds.
exec python3 -c 'import socket, sys; socket.create_connection(sys.argv[1].split(":"), 30)' "$1"
