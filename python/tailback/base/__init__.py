"""What every other module may use: text of others, terminals, names, numbers, folders.

Nothing here imports a module of tailback outside this folder but `errors` and `_native`.
"""
