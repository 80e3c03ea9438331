"""The resident memory of processes, as Linux reports it in `/proc`, and what the allocator of this one holds of it."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inorder.errors import require

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Options of `mallopt`."""
_LARGE_BYTES = 2**19
"""Blocks of this size are not part of the heap: they are returned when they are freed. Such blocks are rare."""
_MANY_ITEMS = 5000
_ROOM_BYTES = 32 * 2**20
"""Address space that a worker must have left for its first item."""
_FREE_BYTES_MAX = 2**20
"""Free memory at the end of the heap that is kept."""


def read_resident_bytes(pid: int | None = None) -> int:
    """The resident memory of a process, by default of this one; 0 if there is no such process or no `/proc`."""
    try:
        with open(f"/proc/{'self' if pid is None else pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def limit_address_space(size: int) -> str:
    """Limit the address space of this process, or leave a lower limit that it has. Returns what is wrong if it needs
    more already; empty: it does not. Does nothing on macOS, which has no such limit and may refuse to set it."""
    if sys.platform in ("darwin", "win32"):
        return ""
    import resource

    used = _read_address_space()
    if used + _ROOM_BYTES > size:
        needed = (used + _ROOM_BYTES) // 2**20
        return f"memory_bytes_max is {size:,}, and a worker needs {needed} MiB before its first item"
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    present = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    size = min([size, *present])
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    return ""


def describe_address_space_limit() -> str:
    """Describe the limit that this process and those that it starts have; empty: there is none."""
    if sys.platform in ("darwin", "win32"):
        return ""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    return f"; the address space of a process is limited to {limit // 2**20} MiB (ulimit -v), which may be too little"


def _read_address_space() -> int:
    """The address space that this process uses; 0 if there is no `/proc`."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def require_resident_memory(option: str) -> None:
    """Raise OperatorError if this system does not say how much memory a process uses."""
    require(read_resident_bytes() > 0, f"{option} needs Linux: this system has no /proc to read resident memory from")


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the collector of reference cycles, for code that makes many objects and no cycles: it would visit all of
    them several times."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def limit_free_memory() -> None:
    """Let the C library keep little memory that is free, in pieces between those in use: all threads share one heap,
    and large blocks are no part of it. To be called before a process starts threads that do much. Does nothing if it
    is not glibc."""
    set_option = _find_function("mallopt")
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)
        set_option(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        set_option(_M_TRIM_THRESHOLD, _FREE_BYTES_MAX)


def release_free_memory() -> None:
    """Return memory that was freed to the system. The C library keeps it for the next allocation otherwise. Does
    nothing if it is not glibc."""
    trim = _find_function("malloc_trim")
    if trim is not None:
        trim(0)


def release_after_work(items: int) -> None:
    """Return memory that work on some items has left to the system: what follows needs blocks of other sizes. If they
    were many, objects in reference cycles are released first, which takes some tens of milliseconds."""
    if items >= _MANY_ITEMS:
        gc.collect()
    release_free_memory()


def _find_function(name: str) -> Callable[..., int] | None:
    """A function of the C library; None: it does not have it."""
    import ctypes

    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
