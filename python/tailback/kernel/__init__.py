"""Builds a Linux kernel as a user-space program, with the files that its guests see: a guest kernel
("kit" in code).

An engine uses only `kit`, which finds the built guest kernels. `build` makes guest kernels from
`apt` (unpacks Debian packages without installing them), `source`, `patches`, `config`, `tools`,
`root` and `modules`. `programs` is for scenarios that run the user's programs. It makes package
roots, and checks programs before the kernel boots.
"""
