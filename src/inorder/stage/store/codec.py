"""Compression of stored results: Zstandard, from the standard library where it has it.

The number of the codec is stored with every result, so that a store stays readable when the choice changes. Small
results say little about the next one unless the codec knows what they have in common: a store that has enough of them
trains a dictionary, keeps it in its database, and compresses small results and all extras with it.
"""

import threading
import zlib
from collections.abc import Sequence
from typing import Any

from inorder.errors import IntegrityError
from inorder.host.zstd import load_zstd

RAW, ZSTD, DICTIONARIES = 0, 1, 2
"""Codecs from DICTIONARIES on are the numbers of dictionaries."""
SMALL_BYTES = 8192
"""Content of at most this size is compressed when it is stored, because a dictionary may be known there."""
SAMPLES = 512
"""A dictionary is made from this many results."""
_SAMPLE_BYTES = 1024
"""Of a longer result, a piece of this size is used: training takes its time for every byte."""
_DICTIONARY_BYTES_MAX = 8192
_LEVEL = 3
_LEAST_BYTES = 64
"""Shorter content does not get smaller without a dictionary."""
_SHARED_MAX = 1024
_MAGIC = b"\x28\xb5\x2f\xfd"
"""Every frame begins with it. Frames with a dictionary are stored without."""
_local = threading.local()


class Dictionary:
    """What the results of a store have in common. Not thread-safe."""

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.data = data
        self.checksum = zlib.crc32(data) or 1
        zstd = load_zstd()
        try:
            self._known = zstd.ZstdDict(data)
        except (zstd.ZstdError, ValueError) as error:
            raise IntegrityError(f"the dictionary {number} of the store is damaged: {error}") from error
        self._compressor: Any = None
        self._shared: dict[bytes, bytes] = {}
        self._packed: dict[bytes, bytes] = {}

    def compress(self, content: bytes) -> bytes:
        """Return the content in compressed form."""
        if self._compressor is None:
            zstd = load_zstd()
            options = {zstd.CompressionParameter.compression_level: _LEVEL, zstd.CompressionParameter.dict_id_flag: 0}
            self._compressor = zstd.ZstdCompressor(options=options, zstd_dict=self._known.as_digested_dict)
        packed: bytes = self._compressor.compress(content, self._compressor.FLUSH_FRAME)
        return packed.removeprefix(_MAGIC)

    def compress_shared(self, content: bytes) -> bytes:
        """As `compress`, for short values that many rows have in common: the latest ones are remembered."""
        found = self._packed.get(content)
        if found is None:
            found = self.compress(content)
            if len(self._packed) >= _SHARED_MAX:
                self._packed.clear()
            self._packed[content] = found
        return found

    def decompress(self, data: bytes, size_max: int) -> bytes:
        """The inverse. Returns at most `size_max` bytes."""
        return decompress_frame(_MAGIC + data, size_max, self._known)

    def decompress_shared(self, data: bytes, size_max: int) -> bytes:
        """As `decompress`, for short values that many rows have in common: the latest ones are remembered."""
        found = self._shared.get(data)
        if found is None:
            found = self.decompress(data, size_max)
            if len(self._shared) >= _SHARED_MAX:
                self._shared.clear()
            self._shared[data] = found
        return found


def train(number: int, samples: Sequence[bytes]) -> Dictionary | None:
    """Make a dictionary; None: the samples have too little in common."""
    zstd = load_zstd()
    try:
        pieces = [_cut_sample(place, sample) for place, sample in enumerate(samples)]
        return Dictionary(number, zstd.train_dict(pieces, _DICTIONARY_BYTES_MAX).dict_content)
    except (zstd.ZstdError, ValueError):
        return None


def _cut_sample(place: int, sample: bytes) -> bytes:
    """A piece of a sample: of each one another, so that the pieces cover all of a result."""
    rest = len(sample) - _SAMPLE_BYTES
    start = place * _SAMPLE_BYTES % rest if rest > 0 else 0
    return sample[start : start + _SAMPLE_BYTES]


def compress_long(content: bytes) -> tuple[int, bytes]:
    """Return the codec and the content, compressed if it is too long for a dictionary."""
    return (RAW, content) if len(content) <= SMALL_BYTES else compress(content)


def compress(content: bytes, dictionary: Dictionary | None = None) -> tuple[int, bytes]:
    """Return the codec and the bytes to store: compressed, unless that saves nothing."""
    if dictionary is not None:
        codec, packed = dictionary.number, dictionary.compress(content)
    elif len(content) < _LEAST_BYTES:
        return RAW, content
    else:
        compressor = _get_compressor()
        codec, packed = ZSTD, compressor.compress(content, compressor.FLUSH_FRAME)
    return (codec, packed) if len(packed) < len(content) else (RAW, content)


def decompress(codec: int, data: bytes, size: int, dictionary: Dictionary | None = None) -> bytes:
    """Return the content. Raises IntegrityError if it does not have `size` bytes, or cannot be decompressed."""
    if dictionary is not None:
        data = dictionary.decompress(data, size + 1)
    elif codec == ZSTD:
        data = decompress_frame(data, size + 1)
    elif codec != RAW:
        raise IntegrityError(f"a stored result has the codec {codec}, which this version does not know")
    if len(data) != size:
        raise IntegrityError(f"a stored result has {len(data)} bytes instead of {size}")
    return data


def decompress_frame(data: bytes, size_max: int, dictionary: Any = None) -> bytes:
    """Decompress a frame. Returns at most `size_max` bytes. Raises IntegrityError if it is damaged."""
    zstd = load_zstd()
    try:
        found: bytes = zstd.ZstdDecompressor(dictionary).decompress(data, max_length=size_max)
    except (zstd.ZstdError, EOFError) as error:
        raise IntegrityError(f"a stored result cannot be decompressed: {error}") from error
    return found


def _get_compressor() -> Any:
    """The compressor of this thread. Making one takes longer than compressing a small result."""
    found = getattr(_local, "compressor", None)
    if found is None:
        found = _local.compressor = load_zstd().ZstdCompressor(level=_LEVEL)
    return found
