"""Programs in the guest: what they need of this machine.

`roots` makes the folders with Debian packages that they run in, `built` compiles those of
tailback's own, `check` says what is wrong with a program before anything boots (with `elf`,
`packages` and `view`), `places` is what of it all the guest is given, and `said` what its kernel
says of them.
"""
