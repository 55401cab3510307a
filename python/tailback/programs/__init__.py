"""Reads the files that programs wrote, which are untrusted: numbers that a scenario requests
(`numbers`), logs of QUIC stacks (`qlog`), and the list of files (`kept`).
"""
