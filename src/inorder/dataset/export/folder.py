"""The folder of an export: its manifest, the files of its tables, and where new ones are prepared.

    _inorder.json                 the manifest; it is there only if the export is complete
    README.md                     the dataset card
    chunks/part-00000.parquet     the shards of a table
    .inorder/staging/             shards that are written, and not published yet
    .inorder/written.jsonl        an entry for each of them
    .inorder/previous.json        the manifest of the export that is being replaced
    .inorder/card                 the hashes of cards that were written since the manifest

A shard is published by a rename. While shards are renamed there is no manifest. What an interrupted export has left is
found by its hash: the next export reuses it.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from inorder.errors import OperatorError
from inorder.host.filesystem import Filesystem, write_atomic

from .card import NAME as CARD
from .card import write_card
from .manifest import (
    NAME,
    ExportManifest,
    ShardEntry,
    decode_entries,
    decode_manifest,
    encode_entry,
    encode_manifest,
)
from .staging import StagedShards

HIDDEN = ".inorder"
_STAGING = f"{HIDDEN}/staging"
_WRITTEN = f"{HIDDEN}/written.jsonl"
_PREVIOUS = f"{HIDDEN}/previous.json"
_CARD_HASH = f"{HIDDEN}/card"
_PART = re.compile(r"part-\d{5,}\.(?:parquet|jsonl)")
_BLOCK_BYTES = 2**20


class ExportFolder(StagedShards):
    """The folder of an export. Only one process may use it at a time."""

    def __init__(self, root: str, filesystem: Filesystem) -> None:
        super().__init__(f"{root}/{_STAGING}", filesystem)
        self.root = root
        make_durable_directory(filesystem, f"{root}/{_STAGING}")
        self.manifest = self._read_manifest(NAME)
        """That of a complete export; None: there is none."""
        self.previous = self.manifest or self._read_manifest(_PREVIOUS)
        """That of the latest complete export, even if another one was begun since."""
        self.is_begun = self.manifest is None
        """Whether the manifest has been removed."""
        self._known = {entry.key: entry for entry in self._list_known()}
        self._unclaimed = self._list_files()
        self._places: dict[str, str] = {}
        """Where each shard is now, by its final path."""

    def reuse(self, key: str) -> tuple[ShardEntry, str] | None:
        """A shard with this key that is intact, and the path where it is now; None: there is none."""
        entry = self._known.get(key)
        for path in () if entry is None else self._unclaimed.get(entry.bytes, ()):
            if entry is not None and self._hash(path) == entry.sha256:
                self._unclaimed[entry.bytes].remove(path)
                return entry, path
        return None

    def keep(self, entry: ShardEntry) -> str:
        """Keep a shard that was staged, so that an interrupted export can be resumed. Returns its path."""
        path = f"{_STAGING}/{entry.key}"
        entry = msgspec.structs.replace(entry, path=path)
        file = self.filesystem.open(f"{self.root}/{_WRITTEN}")
        try:
            file.append(encode_entry(entry))
            file.sync()
        finally:
            file.close()
        return path

    def place(self, final: str, entry: ShardEntry, now: str) -> str:
        """Give a shard its final path; it is moved there when the export is published. Returns the path."""
        self._places[final] = now
        return final

    def finish(self, manifest: ExportManifest, tables: Iterable[str]) -> int:
        """Publish the shards that were placed, which are those of these tables, the card, and the manifest. Returns
        the number of removed files."""
        content = write_card(manifest)
        is_edited = self.is_card_edited()
        previous = "" if self.previous is None else self.previous.card_sha256
        card_sha256 = previous if is_edited else hashlib.sha256(content).hexdigest()
        manifest = msgspec.structs.replace(manifest, card_sha256=card_sha256)
        is_placed = all(final == now for final, now in self._places.items())
        if self.manifest == manifest and not self.is_begun and is_placed and self.read(CARD) is not None:
            self.clean()
            return 0
        removed = 0 if manifest.format == "files" else self.publish(self._places, tables)
        self.begin()
        if not is_edited:
            self.write_card(content)
        self.complete(manifest)
        return removed

    def begin(self) -> None:
        """Remove the manifest, durably, before anything that it describes is changed."""
        if not self.is_begun:
            self.filesystem.rename(f"{self.root}/{NAME}", f"{self.root}/{_PREVIOUS}")
            self.filesystem.sync_directory(f"{self.root}/{HIDDEN}")
            self.filesystem.sync_directory(self.root)
            self.is_begun = True

    def publish(self, places: dict[str, str], tables: Iterable[str]) -> int:
        """Move shards to their final paths, given with the paths where they are now, and remove all other shards of
        these tables. Returns the number of removed files."""
        self.begin()
        filesystem, moves = self.filesystem, {}
        for final, now in places.items():
            if final != now and not now.startswith(_STAGING):
                # Its final path may be that of a shard that is still to be moved.
                moved = f"{_STAGING}/{final.replace('/', '-')}"
                filesystem.rename(f"{self.root}/{now}", f"{self.root}/{moved}")
                now = moved
            moves[final] = now
        filesystem.sync_directory(f"{self.root}/{_STAGING}")
        folders = {f"{self.root}/{table}" for table in tables}
        for folder in sorted(folders):
            filesystem.make_directory(folder)
        for final, now in moves.items():
            if final != now:
                filesystem.rename(f"{self.root}/{now}", f"{self.root}/{final}")
        removed = 0
        for path in self._list_shards(tables):
            if path not in places:
                filesystem.unlink(f"{self.root}/{path}")
                removed += 1
        for folder in sorted({*folders, *map(os.path.dirname, folders)}):
            filesystem.sync_directory(folder)
        return removed

    def is_card_edited(self) -> bool:
        """Whether the card has been changed since it was written."""
        content = self.read(CARD)
        if content is None:
            return False
        known = {"" if self.previous is None else self.previous.card_sha256, *self._read_card_hashes()}
        return hashlib.sha256(content).hexdigest() not in known

    def write_card(self, content: bytes) -> None:
        """Write the card, after its hash, so that an interrupted export does not take it for an edited one."""
        hashes = [*self._read_card_hashes(), hashlib.sha256(content).hexdigest()]
        write_atomic(self.filesystem, f"{self.root}/{_CARD_HASH}", "\n".join(hashes).encode())
        write_atomic(self.filesystem, f"{self.root}/{CARD}", content)

    def _read_card_hashes(self) -> list[str]:
        return (self.read(_CARD_HASH) or b"").decode().split()

    def complete(self, manifest: ExportManifest) -> None:
        """Write the manifest, and then remove what only an interrupted export needs."""
        self.filesystem.sync_directory(self.root)
        write_atomic(self.filesystem, f"{self.root}/{NAME}", encode_manifest(manifest))
        self.clean()

    def clean(self) -> None:
        """Remove what only an interrupted export needs."""
        leftovers = [_WRITTEN, _PREVIOUS, _CARD_HASH, f"{_CARD_HASH}.new"]
        leftovers += [f"{_STAGING}/{name}" for name in self.filesystem.list(f"{self.root}/{_STAGING}")]
        for path in leftovers:
            with suppress(FileNotFoundError):
                self.filesystem.unlink(f"{self.root}/{path}")

    def read(self, path: str) -> bytes | None:
        """The content of a file; None: there is none."""
        try:
            return self.filesystem.read(f"{self.root}/{path}")
        except FileNotFoundError:
            return None

    def _read_manifest(self, path: str) -> ExportManifest | None:
        content = self.read(path)
        return None if content is None else decode_manifest(content, f"{self.root}/{path}")

    def _list_known(self) -> list[ShardEntry]:
        tables = () if self.previous is None else self.previous.tables.values()
        return [entry for table in tables for entry in table.shards] + decode_entries(self.read(_WRITTEN) or b"")

    def _list_files(self) -> dict[int, list[str]]:
        """The files that may be reused, by size."""
        staged = [f"{_STAGING}/{name}" for name in self.filesystem.list(f"{self.root}/{_STAGING}")]
        tables = {os.path.dirname(entry.path) for entry in self._known.values()}
        found: dict[int, list[str]] = {}
        for path in [*self._list_shards(tables), *staged]:
            info = self.filesystem.stat(f"{self.root}/{path}")
            if info is not None:
                found.setdefault(info.size, []).append(path)
        return found

    def _list_shards(self, tables: Iterable[str]) -> list[str]:
        found = []
        for table in sorted(tables):
            if self.filesystem.stat(f"{self.root}/{table}") is not None:
                names = self.filesystem.list(f"{self.root}/{table}")
                found += [f"{table}/{name}" for name in names if _PART.fullmatch(name)]
        return found

    def _hash(self, path: str) -> str:
        digest, offset = hashlib.sha256(), 0
        file = self.filesystem.open(f"{self.root}/{path}")
        try:
            while block := file.read(offset, _BLOCK_BYTES):
                digest.update(block)
                offset += len(block)
        finally:
            file.close()
        return digest.hexdigest()


def make_durable_directory(filesystem: Filesystem, path: str) -> None:
    """Create a directory and its parents, durably."""
    new = []
    place = path
    while place != os.path.dirname(place) and filesystem.stat(place) is None:
        new.append(place)
        place = os.path.dirname(place)
    filesystem.make_directory(path)
    for place in reversed(new):
        filesystem.sync_directory(os.path.dirname(place))


def require_export_folder(root: str) -> None:
    """Raise OperatorError if this is a folder with other files than those of an export."""
    if os.path.lexists(root) and not os.path.isdir(root):
        raise OperatorError(f"--to must be a folder; {root} is not one")
    names = os.listdir(root) if os.path.isdir(root) else []
    if names and HIDDEN not in names and NAME not in names:
        raise OperatorError(f"{root} is not empty and holds no export; choose another folder with --to")
