"""The kernel kit: a Linux built as a program, and the files that its guest sees.

`kit` finds what has been built (all that the engine needs); `build` makes it,
with the help of `apt` (Debian packages without installing them), `source`,
`patches`, `config`, `tools`, `root` and `modules`. `programs` is what scenarios with programs of
the user's need besides: package roots, and what is wrong with a program before anything boots.
"""
