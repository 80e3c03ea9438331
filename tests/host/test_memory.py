"""Memory that was freed is returned to the system."""

import ctypes
import subprocess
import sys

import pytest

from inorder.host.memory import read_resident_bytes, release_free_memory

BLOCK_BYTES = 2000
pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")


@pytest.mark.slow
def test_freed_memory_between_blocks_in_use_is_returned() -> None:
    blocks = [bytes(BLOCK_BYTES) for _ in range(20_000)]
    kept = blocks[::50]
    blocks.clear()
    before = read_resident_bytes()
    release_free_memory()
    assert before - read_resident_bytes() > 10_000 * BLOCK_BYTES
    assert len(kept) == 400


LARGE_BLOCKS = """
from inorder.host.memory import limit_free_memory, read_resident_bytes
{first}
block = bytearray(4_000_000)
del block  # from now on, glibc would take blocks of this size from its heap, and keep them
content = b"1" * 3_000_000
blocks = [(bytearray(3_000_000), bytearray(100_000)) for _ in range(20)]  # the small ones fit into no gap
for large, _ in blocks:
    large[:] = content
before = read_resident_bytes()
kept = [small for _, small in blocks]
del blocks, large, _
print(before - read_resident_bytes())
"""


@pytest.mark.process
@pytest.mark.parametrize(("first", "is_returned"), [("limit_free_memory()", True), ("", False)])
def test_large_blocks_are_returned_when_they_are_freed(first: str, is_returned: bool) -> None:
    script = LARGE_BLOCKS.format(first=first)
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert (int(found) > 50_000_000) == is_returned
