"""Prepares the files for programs that run in the guest.

`roots` makes folders with Debian packages, in which the programs run. `built` compiles tailback's
own programs. `check` uses `elf`, `packages` and `view` to find errors of a program before the guest
boots. `places` collects the files to which the guest gets access. `said` turns the kernel's reports
about programs into warnings.
"""
