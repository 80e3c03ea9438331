"""Compression of stored results: Zstandard, from the standard library where it has it.

The number of the codec is stored with every result, so that a store stays readable when the choice changes.
"""

import importlib
import sys
import threading
from functools import cache
from typing import Any

from inorder.errors import IntegrityError

RAW, ZSTD = 0, 1
_LEVEL = 3
_LEAST_BYTES = 64
"""Shorter content does not get smaller."""
_local = threading.local()


def compress(content: bytes) -> tuple[int, bytes]:
    """Return the codec and the bytes to store: compressed, unless that saves nothing."""
    if len(content) < _LEAST_BYTES:
        return RAW, content
    compressor = _get_compressor()
    packed: bytes = compressor.compress(content, compressor.FLUSH_FRAME)
    return (ZSTD, packed) if len(packed) < len(content) else (RAW, content)


def decompress(codec: int, data: bytes, size: int) -> bytes:
    """Return the content. Raises IntegrityError if it does not have `size` bytes, or cannot be decompressed."""
    if codec == ZSTD:
        zstd = _load_zstd()
        try:
            data = zstd.ZstdDecompressor().decompress(data, max_length=size + 1)
        except (zstd.ZstdError, EOFError) as error:
            raise IntegrityError(f"a stored result cannot be decompressed: {error}") from error
    elif codec != RAW:
        raise IntegrityError(f"a stored result has the codec {codec}, which this version does not know")
    if len(data) != size:
        raise IntegrityError(f"a stored result has {len(data)} bytes instead of {size}")
    return data


def _get_compressor() -> Any:
    """The compressor of this thread. Making one takes longer than compressing a small result."""
    found = getattr(_local, "compressor", None)
    if found is None:
        found = _local.compressor = _load_zstd().ZstdCompressor(level=_LEVEL)
    return found


@cache
def _load_zstd() -> Any:
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
