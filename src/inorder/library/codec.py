"""How content is stored: compressed with Zstandard where that saves something, with a checksum of what is stored.

Workers compress; the process that writes the library stores what it gets.
"""

import threading
import zlib
from collections.abc import Iterable, Sequence

import msgspec

from inorder.errors import IntegrityError
from inorder.host.zstd import load_zstd

RAW, ZSTD = 0, 1
_LEVEL = 3
_LEAST_BYTES = 256
"""Shorter content gets smaller by a few bytes: those of the one chunk of a note, from 117 to 94."""
_TEXT_BLOCK_BYTES = 64 * 1024
"""Texts that are compressed together. A search decompresses one block for a hit."""
_SIZE_MAX = 2**31
_local = threading.local()
_PACK = msgspec.msgpack.Encoder()
_UNPACK_TEXTS = msgspec.msgpack.Decoder(list[str])


class Content(msgspec.Struct, array_like=True, gc=False):
    """Bytes as they are stored."""

    codec: int
    size: int
    checksum: int
    """CRC-32 of `data`."""
    data: bytes


class TextBlock(msgspec.Struct, array_like=True, gc=False):
    """The texts of chunks that follow each other."""

    first: int
    """The number of the first of them."""
    checksum: int
    data: bytes


def pack_content(content: bytes, *, is_compressible: bool = True) -> Content:
    """Return the content as it is stored."""
    data, codec = content, RAW
    if is_compressible and len(content) >= _LEAST_BYTES:
        packed = _compress(content)
        if len(packed) < len(content):
            data, codec = packed, ZSTD
    return Content(codec, len(content), zlib.crc32(data), data)


def unpack_content(stored: Content) -> bytes:
    """Return the content. Raises IntegrityError if it is not what was stored."""
    check_stored(stored.data, stored.checksum)
    data = _decompress(stored.data, stored.size + 1) if stored.codec == ZSTD else stored.data
    if len(data) != stored.size or stored.codec not in (RAW, ZSTD):
        raise IntegrityError(f"it has {len(data)} bytes instead of {stored.size} (codec {stored.codec})")
    return data


def pack_texts(texts: Sequence[str]) -> list[TextBlock]:
    """Return the texts of the chunks of a file as they are stored, in blocks of some kilobytes."""
    blocks: list[TextBlock] = []
    for first, some in _divide(texts):
        data = _compress(_PACK.encode(some))
        blocks.append(TextBlock(first, zlib.crc32(data), data))
    return blocks


def unpack_texts(data: bytes, checksum: int) -> list[str]:
    """Return the texts of a block. Raises IntegrityError if they are not what was stored."""
    check_stored(data, checksum)
    try:
        return _UNPACK_TEXTS.decode(_decompress(data, _SIZE_MAX))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IntegrityError(f"a block of texts cannot be decoded: {error}") from error


def _divide(texts: Sequence[str]) -> Iterable[tuple[int, Sequence[str]]]:
    first, size = 0, 0
    for number, text in enumerate(texts):
        if size and size + len(text) > _TEXT_BLOCK_BYTES:
            yield first, texts[first:number]
            first, size = number, 0
        size += len(text)
    if texts:
        yield first, texts[first:]


def check_stored(data: bytes, checksum: int) -> None:
    """Raise IntegrityError unless these are the bytes that were stored."""
    if not isinstance(data, bytes) or zlib.crc32(data) != checksum:
        raise IntegrityError("its bytes are not those that were stored")


def _compress(content: bytes) -> bytes:
    compressor = getattr(_local, "compressor", None)
    if compressor is None:  # making one takes longer than compressing a small result
        compressor = _local.compressor = load_zstd().ZstdCompressor(level=_LEVEL)
    packed: bytes = compressor.compress(content, compressor.FLUSH_FRAME)
    return packed


def _decompress(data: bytes, size_max: int) -> bytes:
    zstd = load_zstd()
    try:
        found: bytes = zstd.ZstdDecompressor().decompress(data, max_length=size_max)
    except (zstd.ZstdError, EOFError) as error:
        raise IntegrityError(f"it cannot be decompressed: {error}") from error
    return found
