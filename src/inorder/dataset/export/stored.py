"""An export in an object store.

    _inorder.json                                  the manifest, replaced as a whole
    README.md                                      the dataset card
    chunks/part-00000-1f4be07a9c02d3e8.parquet     the shards of a table, with the start of their hash
    .inorder/leases/                               which process exports
    .inorder/shards/<key>                          the entry of a shard that was uploaded and is in no manifest yet
    .inorder/card                                  the hashes of cards that were written since the manifest

There is no rename, so nothing that a manifest names is changed: a shard with another content has another name. New
shards are put first, the manifest after them, and what it no longer names is removed last. A reader that follows the
manifest always finds one complete export.
"""

import hashlib
import re
from collections.abc import Iterable

import msgspec

from inorder.dataset.tables import TABLES
from inorder.errors import OperatorError
from inorder.files.object_store import ObjectStore
from inorder.host.filesystem import SystemFilesystem

from .card import NAME as CARD
from .card import write_card
from .lease import FOLDER as LEASES
from .lease import ExportLease
from .manifest import NAME, ExportManifest, ShardEntry, decode_entries, decode_manifest, encode_entry, encode_manifest
from .staging import StagedShards

_HIDDEN = ".inorder/"
_ENTRIES = f"{_HIDDEN}shards/"
_CARD_HASH = f"{_HIDDEN}card"
_SHARD = re.compile(rf"(?:{'|'.join(TABLES)}|extract/[a-z0-9_-]+)/part-\d{{5,}}-[0-9a-f]{{16}}\.(?:parquet|jsonl)")
_HASH_LENGTH = 16


class StoredExport(StagedShards):
    """An export in an object store, under a lease. Shards are written to a local scratch folder first."""

    def __init__(self, store: ObjectStore, lease: ExportLease, scratch: str) -> None:
        super().__init__(scratch, SystemFilesystem())
        self.root = store.address
        self._store = store
        self._lease = lease
        content = store.read(NAME)
        self.previous = None if content is None else decode_manifest(content, f"{self.root}/{NAME}")
        """The manifest of the latest export."""
        self._objects = store.list()
        tables = () if self.previous is None else self.previous.tables.values()
        self._known = {entry.key: entry for table in tables for entry in table.shards}

    def reuse(self, key: str) -> tuple[ShardEntry, str] | None:
        """A shard with this key that is there with its size, and its path; None: there is none."""
        entry = self._known.get(key) or self._read_entry(key)
        if entry is None or self._objects.get(entry.path) != entry.bytes:
            return None
        return entry, entry.path

    def keep(self, entry: ShardEntry) -> str:
        """Keep a shard that was staged. It is uploaded when it is placed."""
        return ""

    def place(self, final: str, entry: ShardEntry, now: str) -> str:
        """Upload a shard that was staged, or copy one that is there, to the name that its content has. Returns it."""
        stem, _, suffix = final.rpartition(".")
        path = f"{stem}-{entry.sha256[:_HASH_LENGTH]}.{suffix}"
        if self._objects.get(path) != entry.bytes:
            if now:
                self._store.copy(now, path)
            else:
                self._store.upload(f"{self._folder}/{entry.key}", path)
            self._objects[path] = entry.bytes
        if not now:
            self.discard(entry.key)
            self._write(f"{_ENTRIES}{entry.key}", encode_entry(msgspec.structs.replace(entry, path=path)))
        return path

    def finish(self, manifest: ExportManifest, tables: Iterable[str]) -> int:
        """Put the card and the manifest, unless they are there, and then remove every object that no longer belongs to
        the export. Returns the number of removed shards."""
        content, found = write_card(manifest), self._store.read(CARD)
        previous = "" if self.previous is None else self.previous.card_sha256
        begun = (self._store.read(_CARD_HASH) or b"").decode().split()
        is_edited = found is not None and hashlib.sha256(found).hexdigest() not in {previous, *begun}
        card_sha256 = previous if is_edited else hashlib.sha256(content).hexdigest()
        manifest = msgspec.structs.replace(manifest, card_sha256=card_sha256)
        if not is_edited and found != content:
            self._write(_CARD_HASH, "\n".join([*begun, card_sha256]).encode())
            self._write(CARD, content)
        if manifest != self.previous:
            self._lease.check()
            self._write(NAME, encode_manifest(manifest))
        return self._remove_others(manifest)

    def _remove_others(self, manifest: ExportManifest) -> int:
        named = {entry.path for table in manifest.tables.values() for entry in table.shards}
        replaced = {entry.path for entry in self._known.values()}
        shards = [path for path in self._objects if path not in named and (path in replaced or _SHARD.fullmatch(path))]
        others = [path for path in self._objects if path.startswith(_ENTRIES) or path == _CARD_HASH]
        if shards or others:
            self._lease.check()
            self._store.remove([*shards, *others])
        return len(shards)

    def _read_entry(self, key: str) -> ShardEntry | None:
        path = f"{_ENTRIES}{key}"
        content = self._store.read(path) if path in self._objects else None
        return next(iter(decode_entries(content or b"")), None)

    def _write(self, path: str, content: bytes) -> None:
        self._store.write(path, content)
        self._objects[path] = len(content)


def require_export_store(store: ObjectStore) -> None:
    """Raise OperatorError if there are other objects than those of an export."""
    paths = store.list()
    if paths and NAME not in paths and not any(path.startswith(LEASES) for path in paths):
        raise OperatorError(f"{store.address} is not empty and holds no export; choose another address with --to")
