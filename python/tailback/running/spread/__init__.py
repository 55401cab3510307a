"""Runs on more than one machine: who does which, how a run travels, how stores become one.

What drives a cluster is above: `tailback.running.cluster`.
"""
