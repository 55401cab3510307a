"""Programs in the guest: the parts that they need on this machine.

`roots` makes the folders with Debian packages that they run in, and `built` compiles tailback's own
programs. `check` finds what is wrong with a program before anything boots (with `elf`, `packages`
and `view`). `places` collects what the guest gets from these, and `said` has the kernel's warnings
about programs.
"""
