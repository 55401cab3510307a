"""Finds the Debian package of a program or a library, without an index of all files.

The index of all files would be a download of 100 MB. Debian names the packages of libraries by a
rule, so the archive's list of package names usually suffices. Tables in this module list the
exceptions to the rule, and the packages of programs, such as `apache2-utils` for `ab`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

PROGRAMS = {
    **{"ab": "apache2-utils", "apache2": "apache2", "aria2c": "aria2", "caddy": "caddy"},
    **{"chronyd": "chrony", "dig": "bind9-dnsutils", "ffmpeg": "ffmpeg", "g++": "g++"},
    **{"gst-launch-1.0": "gstreamer1.0-tools", "h2load": "nghttp2-client"},
    **{"haproxy": "haproxy", "hping3": "hping3", "iperf": "iperf", "iperf3": "iperf3"},
    **{"ip": "iproute2", "ss": "iproute2", "tc": "iproute2", "java": "default-jre-headless"},
    **{"mtr": "mtr-tiny", "nc": "netcat-openbsd", "netserver": "netperf", "nginx": "nginx-light"},
    **{"node": "nodejs", "npm": "npm", "perl": "perl-base", "php": "php-cli"},
    **{"ping": "iputils-ping", "pip3": "python3-pip", "python": "python-is-python3"},
    **{"python3": "python3-minimal", "scp": "openssh-client", "ssh": "openssh-client"},
    **{"sshd": "openssh-server", "tracepath": "iputils-tracepath", "tshark": "tshark"},
    **{"unbound": "unbound", "ITGSend": "d-itg", "ITGRecv": "d-itg", "flent": "flent"},
}
"""The package for each program whose package has a different name than the program."""

INTERPRETERS = re.compile(r"(python3|perl|ruby|php|lua)[\d.]*")

LIBRARIES = {
    "libc.so.6": "libc6",
    "libgcc_s.so.1": "libgcc-s1",
    "libstdc++.so.6": "libstdc++6",
    "libatomic.so.1": "libatomic1",
    "libgomp.so.1": "libgomp1",
    "libcrypt.so.1": "libcrypt1",
    "libssl.so.3": "libssl3t64",
    "libcrypto.so.3": "libssl3t64",
    "libz.so.1": "zlib1g",
    "libasan.so.8": "libasan8",
    "libevent-2.1.so.7": "libevent-2.1-7t64",
    "libpython3.13.so.1.0": "libpython3.13",
    "libbz2.so.1.0": "libbz2-1.0",
}
"""The package for each library whose package name does not follow Debian's rule."""

LOADERS = {
    "ld-linux-x86-64.so.2": "libc6",
    "ld-musl-x86_64.so.1": "musl",
}

GONE = {"libssl.so.1.1": "OpenSSL 1.1", "libcrypto.so.1.1": "OpenSSL 1.1"}
"""Libraries that Debian no longer has, each with the software to which it belongs."""


def of_program(name: str, archive: Collection[str]) -> str | None:
    """Return the package that has a program, or None if the package is not known."""
    plain = name.rpartition("/")[2]
    if known := PROGRAMS.get(plain):
        return known
    if found := INTERPRETERS.fullmatch(plain):
        return PROGRAMS.get(found[1], found[1])
    return plain if plain in archive else None


def of_library(name: str, archive: Collection[str]) -> str | None:
    """Return the package that has a library, or None if the package is not known. `name` is the
    file name that the loader searches for, such as libfoo.so.2."""
    if known := LIBRARIES.get(name) or LOADERS.get(name):
        return known
    return next((one for one in by_rule(name) if one in archive), None)


def by_rule(name: str) -> Sequence[str]:
    """Return the names that Debian may give the package of a library. For example, libfoo.so.2 is
    in libfoo2 or libfoo2t64.
    """
    match = re.fullmatch(r"(lib[A-Za-z0-9+_.-]+?)\.so\.([0-9.]+)|(lib.+)-([0-9.]+)\.so", name)
    if match is None:
        return ()
    stem = (match[1] or match[3]).lower().replace("_", "-")
    number = match[2] or match[4]
    joined = f"{stem}-{number}" if stem[-1].isdigit() or match[3] else f"{stem}{number}"
    bases = dict.fromkeys([joined, f"{stem}{number}", f"{stem}-{number}"])
    return [base + suffix for base in bases for suffix in ("", "t64", "v5", "a", "b")]
