"""Distributes runs over several machines: divides a sweep, sends runs, and merges stores.

`tailback.running.cluster` has the client for Dask.
"""
