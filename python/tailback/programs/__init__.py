"""Reads the files that programs leave, as untrusted input: numbers that a scenario requests
(`numbers`), logs of QUIC stacks (`qlog`), and the list of files (`kept`).
"""
