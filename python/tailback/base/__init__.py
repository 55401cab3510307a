"""Helper functions that every other module may use, for example to escape untrusted text.

Modules in this folder may import each other, `tailback.errors` and `tailback._native`. Modules in
this folder import no other module of tailback.
"""
