"""Code that every other module may use: untrusted text, terminals, names, numbers, folders.

Nothing here imports a module of tailback outside this folder but `errors` and `_native`.
"""
