"""Fingerprints: what the outputs of an item were made of.

The fingerprint of an item is the file `<first output>.fp.json`, published after its outputs: the hash of the inputs,
the hash of the configuration, and size and checksum of every output. It holds nothing that differs from run to run.
"""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from inorder.host.regular_file import open_descriptor, open_regular

from .data_layout import FINGERPRINT_SUFFIX, find_obstacle, resolve_output

SCHEMA_VERSION = 1
_READ_BYTES = 2**16
"""The size of a block that is read. The C library maps and unmaps the memory of a larger block in every read, which
takes longer than reading a small file."""
_ENCODER = msgspec.json.Encoder(order="deterministic")


class OutputRecord(msgspec.Struct, frozen=True, array_like=True):
    """Path, size and checksum of an output when it was made."""

    path: str
    size: int
    crc32: int


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a fingerprint file."""

    schema_version: int = SCHEMA_VERSION
    stage: str
    item_id: str
    input_sha256: str
    cfg_hash: str
    outputs: dict[str, OutputRecord]
    extras: dict[str, Any] = {}

    def encode(self) -> bytes:
        """Encode as a line of JSON."""
        return _ENCODER.encode(self) + b"\n"


_DECODER = msgspec.json.Decoder(Fingerprint)


def decode_fingerprint(data: bytes) -> Fingerprint | None:
    """Decode a fingerprint; None: it is damaged or of another version."""
    try:
        found = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.schema_version == SCHEMA_VERSION else None


def hash_file(path: str) -> str:
    """Return the SHA-256 of a file. For a small one, `hashlib.file_digest` takes five times as long."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0, opener=open_descriptor) as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def checksum_file(path: str) -> tuple[int, int]:
    """Return the size and CRC-32 of a file."""
    size = checksum = 0
    with open_regular(path) as file:
        while piece := file.read(_READ_BYTES):
            size += len(piece)
            checksum = zlib.crc32(piece, checksum)
    return size, checksum


def combine_sha256(hashes: Mapping[str, str]) -> str:
    """Combine the hashes of all inputs of an item, by name. A single hash is returned unchanged; without inputs the
    result is empty."""
    if not hashes:
        return ""
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    lines = "".join(f"{name}\0{digest}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def locate_fingerprint(outputs: Mapping[str, str | Path]) -> str | None:
    """Return the path of the fingerprint of an item with these outputs; None: it has no outputs."""
    first = next(iter(outputs.values()), None)
    return None if first is None else f"{os.fspath(first)}{FINGERPRINT_SUFFIX}"


def list_published(data: str, outputs: Mapping[str, str | Path]) -> list[str]:
    """List the files that an item with these outputs may have in DATA, relative to it. The fingerprint is first: as
    long as it is missing, the item is not up to date."""
    found = []
    for path in (locate_fingerprint(outputs), *outputs.values()):
        with contextlib.suppress(ValueError):
            found += [resolve_output(data, path)] if path is not None else []
    return found


def resolve_outputs(data: str, outputs: Mapping[str, str | Path], *, fingerprinting: bool) -> dict[str, str]:
    """Return the outputs relative to DATA. Raises ValueError if one cannot be published, or two have the same path."""
    found = {name: resolve_output(data, path) for name, path in outputs.items()}
    paths = list(found.values())
    if paths and fingerprinting:
        paths.append(f"{paths[0]}{FINGERPRINT_SUFFIX}")
    for path in paths:
        if paths.count(path) > 1:
            raise ValueError(f"two files of the item would be published as {path!r}")
        if obstacle := find_obstacle(data, path):
            raise ValueError(obstacle)
    return found
