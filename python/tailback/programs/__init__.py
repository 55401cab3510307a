"""Reads untrusted files that programs wrote. `numbers` reads numbers for the scenario's `results`,
`qlog` reads logs of QUIC, and `kept` finds the files.
"""
