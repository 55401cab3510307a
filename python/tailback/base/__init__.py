"""Helper functions that every other module may use, for example to escape untrusted text.

Modules in this folder may import each other, `tailback.errors` and `tailback._native`.
They import no other module of tailback.
"""
