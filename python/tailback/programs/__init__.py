"""Reads the untrusted files that programs wrote. `numbers` reads numbers that a scenario requests,
`qlog` reads logs of QUIC stacks, and `kept` lists the files.
"""
