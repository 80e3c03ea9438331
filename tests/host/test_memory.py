"""Memory that was freed can be returned to the system."""

import ctypes

import pytest

from inorder.host.memory import read_resident_bytes, release_free_memory

BLOCK_BYTES = 2000


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
def test_freed_memory_between_blocks_in_use_is_returned() -> None:
    blocks = [bytes(BLOCK_BYTES) for _ in range(20_000)]
    kept = blocks[::50]
    blocks.clear()
    before = read_resident_bytes()
    release_free_memory()
    assert before - read_resident_bytes() > 10_000 * BLOCK_BYTES
    assert len(kept) == 400
