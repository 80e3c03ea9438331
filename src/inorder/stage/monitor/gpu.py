"""Memory of the GPUs that this process uses, or a process that works for it."""

import sys
from collections.abc import Callable
from typing import Any

ReadBytes = Callable[[], int | None]
_others: list[ReadBytes] = []
"""How to read what other processes use that work for this one."""


def read_gpu_memory_bytes() -> int | None:
    """Return the bytes that torch has reserved on all GPUs; None: no GPU was used through torch."""
    found = [size for read in (read_own_gpu_memory_bytes, *_others) if (size := read()) is not None]
    return sum(found) if found else None


def read_own_gpu_memory_bytes() -> int | None:
    """The same for this process alone. Nothing is imported or initialized for it."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return sum(int(cuda.memory_reserved(device)) for device in range(cuda.device_count()))


def add_gpu_process(read: ReadBytes) -> None:
    """Count the memory of another process, too."""
    _others.append(read)


def remove_gpu_process(read: ReadBytes) -> None:
    """Count it no longer."""
    _others.remove(read)
