"""The manifest of an export, `_inorder.json`: what is in it, with the hash of every shard.

It is written last and removed first, so a folder that has one holds a complete export.
"""

import hashlib

import msgspec

from inorder.errors import IntegrityError, OperatorError

NAME = "_inorder.json"
VERSION = 1
FORMATS = ("parquet", "jsonl", "files")


class ColumnEntry(msgspec.Struct, frozen=True):
    """A column of a table."""

    name: str
    type: str


class ShardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a table."""

    path: str
    """Relative to the folder of the export."""
    documents: int
    rows: int
    bytes: int
    sha256: str
    key: str
    """A hash of what the file was made of."""
    columns: list[ColumnEntry]
    metadata: dict[str, str]
    """What is the same for the whole table, such as the provider of vectors."""


class TableEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A table of an export."""

    documents: int
    rows: int
    bytes: int
    sha256: str
    """Of the hashes of its files, in order."""
    columns: list[ColumnEntry] = []
    metadata: dict[str, str] = {}
    shards: list[ShardEntry] = []
    """None in an export of files per document."""


class ExportManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the manifest."""

    schema_version: int = VERSION
    generator: str
    format: str
    tables: dict[str, TableEntry]
    card_sha256: str = ""
    """Of the dataset card as it was written; a card that was edited is not replaced."""


def combine_shards(name: str, made_by: str, shards: list[ShardEntry]) -> TableEntry:
    """The entry of a table. Raises OperatorError if its shards do not have the same columns. `made_by` is the command
    that makes its results."""
    for shard in shards[1:]:
        if (shard.columns, shard.metadata) != (shards[0].columns, shards[0].metadata):
            raise OperatorError(
                f"the table {name} was made with different settings ({shards[0].metadata} and {shard.metadata});"
                f" run `inorder {made_by}` to bring all of it up to date"
            )
    return TableEntry(
        documents=sum(shard.documents for shard in shards),
        rows=sum(shard.rows for shard in shards),
        bytes=sum(shard.bytes for shard in shards),
        sha256=hashlib.sha256("\n".join(shard.sha256 for shard in shards).encode()).hexdigest(),
        columns=shards[0].columns,
        metadata=shards[0].metadata,
        shards=shards,
    )


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(ExportManifest)
_ENTRY = msgspec.json.Decoder(ShardEntry)


def encode_manifest(manifest: ExportManifest) -> bytes:
    """Encode a manifest. Equal manifests give equal bytes."""
    return msgspec.json.format(_ENCODER.encode(manifest), indent=1) + b"\n"


def decode_manifest(content: bytes, path: str) -> ExportManifest:
    """Decode a manifest. Raises IntegrityError if it is damaged."""
    try:
        return _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{path} is damaged ({error}); remove it to have everything written again"
        raise IntegrityError(message) from error


def encode_entry(entry: ShardEntry) -> bytes:
    """Encode an entry as one line."""
    return _ENCODER.encode(entry) + b"\n"


def decode_entries(content: bytes) -> list[ShardEntry]:
    """Decode the lines of `encode_entry`, up to the first that is not complete."""
    found = []
    for line in content.splitlines():
        try:
            found.append(_ENTRY.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            break
    return found
