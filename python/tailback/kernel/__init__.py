"""The kernel kit: a Linux kernel built as a program, and the files that its guest sees.

The engine needs only `kit`, which finds the kits that have been built. `build` makes kits with the
help of `apt` (unpacks Debian packages without installing them), `source`, `patches`, `config`,
`tools`, `root` and `modules`. `programs` is for scenarios with the user's programs. It makes
package roots, and checks programs before anything boots.
"""
