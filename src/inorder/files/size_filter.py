"""Which sizes occur more than once: only files of one size can have the same content."""

from mmap import mmap

_SLOTS = 2**23
_FACTOR = 0x9E3779B97F4A7C15


class SizeFilter:
    """Says whether a size occurs twice. It takes two megabytes for any number of files, and may err on that side."""

    def __init__(self) -> None:
        self._once = mmap(-1, _SLOTS // 8)  # takes the memory of what is set
        self._twice = mmap(-1, _SLOTS // 8)

    def add(self, size: int) -> None:
        """Count the size of a file."""
        byte, bit = _find_slot(size)
        if self._once[byte] & bit:
            self._twice[byte] |= bit
        else:
            self._once[byte] |= bit

    def has_two(self, size: int) -> bool:
        """Return whether there may be two files of this size."""
        byte, bit = _find_slot(size)
        return bool(self._twice[byte] & bit)


def _find_slot(size: int) -> tuple[int, int]:
    slot = (size * _FACTOR >> 24) % _SLOTS
    return slot >> 3, 1 << (slot & 7)
