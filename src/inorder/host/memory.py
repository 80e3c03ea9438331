"""The resident memory of processes, as Linux reports it in `/proc`, and what the allocator of this one holds of it."""

import os
import sys

from inorder.errors import require


def read_resident_bytes(pid: int | None = None) -> int:
    """The resident memory of a process, by default of this one; 0 if there is no such process or no `/proc`."""
    try:
        with open(f"/proc/{'self' if pid is None else pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def require_resident_memory(option: str) -> None:
    """Raise OperatorError if this system does not say how much memory a process uses."""
    require(read_resident_bytes() > 0, f"{option} needs Linux: this system has no /proc to read resident memory from")


def release_free_memory() -> None:
    """Return memory that was freed to the system. The C library keeps it for the next allocation otherwise, in pieces
    between those in use. Does nothing if it is not glibc."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
