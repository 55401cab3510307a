"""Prepares on this machine what programs in the guest need.

`roots` makes the folders with Debian packages that they run in, and `built` compiles tailback's own
programs. `check` finds what is wrong with a program before anything boots (with `elf`, `packages`
and `view`). `places` collects the files that the guest gets. `said` reads the kernel's warnings
about programs.
"""
