"""What an output was made of.

Beside the first output of an item lies `<output>.fp.json`, published with it and after it: the hash of the inputs, the
hash of the configuration, and size and checksum of every output. It holds nothing that differs from run to run.
"""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from .data_layout import FINGERPRINT_SUFFIX, find_obstacle, resolve_output

SCHEMA_VERSION = 1
_PIECE_BYTES = 2**20
_ENCODER = msgspec.json.Encoder(order="deterministic")


class OutputRecord(msgspec.Struct, frozen=True, array_like=True):
    """An output as it was made."""

    path: str
    size: int
    crc32: int


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in a `.fp.json`."""

    schema_version: int = SCHEMA_VERSION
    stage: str
    item_id: str
    input_sha256: str
    cfg_hash: str
    outputs: dict[str, OutputRecord]
    extras: dict[str, Any] = {}

    def encode(self) -> bytes:
        """As it is written."""
        return _ENCODER.encode(self) + b"\n"


_DECODER = msgspec.json.Decoder(Fingerprint)


def decode_fingerprint(data: bytes) -> Fingerprint | None:
    """What was written; None: this is no fingerprint that can be read."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.schema_version == SCHEMA_VERSION else None


def hash_file(path: str) -> str:
    """Of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_file(path: str) -> tuple[int, int]:
    """Size and CRC-32 of a file."""
    size = checksum = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
    return size, checksum


def combine_sha256(hashes: Mapping[str, str]) -> str:
    """Of all inputs of an item, by name; of a single one it is that one's own, of none it is empty."""
    if not hashes:
        return ""
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    said = "".join(f"{name}\0{digest}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def locate_fingerprint(outputs: Mapping[str, str | Path]) -> str | None:
    """Where the fingerprint of an item with these outputs lies; None: it has none."""
    first = next(iter(outputs.values()), None)
    return None if first is None else f"{os.fspath(first)}{FINGERPRINT_SUFFIX}"


def list_published(data: str, outputs: Mapping[str, str | Path]) -> list[str]:
    """Every file that an item with these outputs may have in DATA, relative to it, the fingerprint first: without it
    nothing counts as made."""
    found = []
    for path in (locate_fingerprint(outputs), *outputs.values()):
        with contextlib.suppress(ValueError):
            found += [resolve_output(data, path)] if path is not None else []
    return found


def resolve_outputs(data: str, outputs: Mapping[str, str | Path], *, fingerprinting: bool) -> dict[str, str]:
    """Outputs relative to DATA. Raises ValueError, with the reason, where one has no place there, or another's."""
    found = {name: resolve_output(data, path) for name, path in outputs.items()}
    layout = list(found.values())
    if layout and fingerprinting:
        layout.append(f"{layout[0]}{FINGERPRINT_SUFFIX}")
    for path in layout:
        if layout.count(path) > 1:
            raise ValueError(f"two of its files would be published as {path!r}")
        if trouble := find_obstacle(data, path):
            raise ValueError(trouble)
    return found
