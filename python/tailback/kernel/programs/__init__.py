"""Programs in the guest: what they need of this machine.

`roots` makes the folders with Debian packages that they run in, and `built` compiles tailback's own
programs. `check` finds what is wrong with a program before anything boots (with `elf`, `packages`
and `view`). `places` is what the guest gets of all this, and `said` has its kernel's warnings about
them.
"""
