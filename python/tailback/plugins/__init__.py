"""Plugins: crates of the user that add congestion controls, queue disciplines, kinds of traffic or
transport stacks.

A plugin is compiled together with the engine's sources into a copy of `tailback._native` that is
kept in the user's cache. A scenario that names the plugin is read and run by that copy.

| module | what |
|---|---|
| `asked` | which plugins a command, an environment and a scenario name |
| `crate` | what a plugin is: a name, a folder, a hash of its sources |
| `sources` | the sources of this installation's engine; `shipping` puts them into a package |
| `locks` | the versions of dependencies, of the engine and of plugins |
| `workspace` | cargo: builds a copy, or runs the tests of plugins |
| `copies` | the copies that are loaded, and which copy a scenario belongs to |
| `begin` | writes a new plugin |
"""
