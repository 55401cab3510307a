#!/bin/sh
set -e
ethtool -K eth0 tx off
route add -net 193.167.0.0 netmask 255.255.0.0 gw 193.167.100.2
mkdir -p /logs/qlog
