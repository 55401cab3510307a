"""Spreads runs over several machines. It divides a sweep, transports runs, and merges stores.

The client of a cluster is in `tailback.running.cluster`.
"""
