"""Builds guest kernels ("kit" in code). A guest kernel is a Linux kernel compiled as a user-space
program, together with the files that its guests see.

An engine uses only one module of this package: `kit`, which finds the built guest kernels. `build`
makes guest kernels from `apt` (unpacks Debian packages without installing them), `source`,
`patches`, `config`, `tools`, `root` and `modules`. `programs` prepares scenarios that run the
user's programs. `programs` also makes package roots, and checks programs before the kernel boots.
"""
