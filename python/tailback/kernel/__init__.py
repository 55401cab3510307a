"""The kernel kit: a Linux built as a program, and the files that its guest sees.

The engine needs only `kit`, which finds the kits that have been built. `build` makes them, with the
help of `apt` (Debian packages without installing them), `source`, `patches`, `config`, `tools`,
`root` and `modules`. `programs` has the parts for scenarios with programs of the user: package
roots, and checks of programs before anything boots.
"""
