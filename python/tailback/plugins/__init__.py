"""Loads plugins: Rust crates of the user that add congestion controls, queue disciplines, kinds of
traffic or transport stacks.

A plugin is compiled together with the engine's sources into a copy of `tailback._native` that is
kept in the user's cache. tailback uses this copy to read and run the scenarios that name the
plugin.

| module | what it does |
|---|---|
| `asked` | finds the plugins that a command, an environment and a scenario name |
| `crate` | describes a plugin: name, folder, hash of its sources |
| `sources` | finds the sources of this installation's engine; `shipping` puts them into a package |
| `locks` | joins the dependency versions of the engine and of plugins |
| `workspace` | runs cargo: builds a copy, or runs the tests of plugins |
| `copies` | loads copies, and finds the copy to which a scenario belongs |
| `begin` | writes a new plugin |
"""
