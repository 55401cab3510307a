"""Runs on more than one machine: which machine executes which run, how runs are sent, how stores
are merged.

The client of a cluster is in `tailback.running.cluster`.
"""
