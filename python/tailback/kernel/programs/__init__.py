"""Programs of the user's in a guest, on this machine's side.

`roots` makes the folders with Debian packages that they run in, `check` says what is wrong with
a program before anything boots (with `elf` and `packages`), `places` is what of it all the guest
is given, and `said` what its kernel says of them.
"""
