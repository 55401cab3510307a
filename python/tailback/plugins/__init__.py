"""Crates of the user's that bring congestion controls, queue disciplines or kinds of traffic.

Such a crate is compiled together with the engine's sources into a copy of `tailback._native` that
is kept in the user's cache; a scenario that names the crate is read and run by that copy.

| module | what |
|---|---|
| `asked` | which crates a command, an environment and a scenario name |
| `crate` | what a crate is: a name, a folder, a hash of its sources |
| `sources` | the sources of this installation's engine; `shipping` puts them into a package |
| `workspace` | cargo: builds a copy, or runs the tests of crates |
| `copies` | the copies that are loaded, and which one a scenario belongs to |
| `begin` | a new crate |
"""
