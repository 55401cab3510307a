"""Reads untrusted files that programs wrote. `numbers` reads numbers for the scenario's `results`,
`qlog` reads QUIC logs, and `kept` finds the files.
"""
