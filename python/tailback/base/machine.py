"""Functions whose implementation depends on the operating system.

These functions count the cores and the memory that runs may use. These functions also lock files,
open files without blocking, flush folders to the disk, and check whether the kernel engine can
run."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from pathlib import Path
from typing import IO, Any

from tailback.errors import InputError

if sys.platform == "win32":
    import ctypes
    import msvcrt
else:
    import fcntl
    import resource

READ_AT_ONCE = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Flags that open a file for reading bytes. With these flags, opening a pipe does not wait for its
writer."""


def check_for_kernel_engine() -> None:
    """Raise `InputError` unless this machine runs Linux on x86-64, as User-mode Linux requires."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise InputError(
            f"the kernel engine needs Linux on x86-64, and this is {platform.system()} on "
            f"{platform.machine()}; use --engine sim, or another machine"
        )


def lock(file: IO[Any]) -> None:
    """Lock an open file. Wait while another process holds the lock. Closing the file ends the
    lock."""
    if sys.platform == "win32":
        # Windows stops waiting for a lock after ten seconds, so repeat the call.
        while True:
            with contextlib.suppress(OSError):
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                return
    else:
        fcntl.flock(file, fcntl.LOCK_EX)


def sync(path: Path) -> None:
    """Flush a file, or a folder's list of files, to the disk. On Windows, do nothing for a
    folder."""
    flags = os.O_RDONLY
    if sys.platform == "win32":
        if path.is_dir():
            return
        flags = os.O_RDWR
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_available() -> int | None:
    """Return how many more bytes of memory this process can use without swapping.

    The result is the smallest of three limits, which are set by the machine, the
    container and the process.
    """
    found = [m for m in (_of_machine(), _of_container(), _of_process()) if m is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    """Return how many bytes of memory the machine can provide without swapping. On macOS, return
    the total memory, because macOS does not report how much is available."""
    if sys.platform == "win32":
        return _of_windows()
    if sys.platform == "darwin":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_container() -> int | None:
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = (group / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return None if limit == "max" else max(0, int(limit) - int(used))


def _of_process() -> int | None:
    """Return how many more bytes this process may use under its address-space limit (ulimit -v)."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


if sys.platform == "win32":

    class _Memory(ctypes.Structure):
        """The structure MEMORYSTATUSEX of Windows."""

        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            ("total", ctypes.c_ulonglong),
            ("available", ctypes.c_ulonglong),
            ("rest", ctypes.c_ulonglong * 5),
        )

    def _of_windows() -> int | None:
        memory = _Memory(length=ctypes.sizeof(_Memory))
        done = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(memory))
        return memory.available if done else None
