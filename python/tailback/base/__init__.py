"""Code that every other module may use: untrusted text, terminals, names, numbers, folders.

Modules in this folder import each other, `tailback.errors` and `tailback._native`, and no other
module of tailback.
"""
