"""A target in one JSON file, which is replaced as a whole, for tests of what all targets have in common."""

import os
from typing import Any

import msgspec

from inorder.host.filesystem import SystemFilesystem, write_atomic
from inorder.sinks.base import Position
from inorder.targets.base import (
    ListedDocument,
    TargetChanges,
    TargetLayout,
    TargetOptions,
    decode_document,
    encode_document,
)

encode = encode_document


def open_target(address: str, options: TargetOptions) -> "FileTarget":
    """As the registry calls it."""
    return FileTarget(address.partition("://")[2], options)


class FileTarget:
    """Documents by id, with the position."""

    def __init__(self, path: str, options: TargetOptions | None = None) -> None:
        self.path = path
        self.options = options or TargetOptions()
        self.name = f"file://{path}"
        self.writes = 0
        self.events: list[str] = []

    def open(self, layout: TargetLayout) -> None:
        self.events.append(f"open {layout.dimensions} {layout.provider}")
        if self.options.recreate:
            self.clear()

    def read_position(self) -> Position:
        return Position(*read_file(self.path)["position"])

    def list_documents(self, after: str, count: int) -> list[ListedDocument]:
        documents = read_file(self.path)["documents"]
        return [ListedDocument(each, documents[each]["hash"]) for each in sorted(documents) if each > after][:count]

    def write(self, changes: TargetChanges, position: Position) -> None:
        documents = read_file(self.path)["documents"]
        for doc_id in changes.removed_ids:
            documents.pop(doc_id, None)
        for content in changes.written:
            document = decode_document(content)
            documents[document.doc_id] = msgspec.to_builtins(document)
        self._replace(documents, position)
        self.writes += 1

    def clear(self) -> None:
        self._replace({}, Position())

    def _replace(self, documents: dict[str, Any], position: Position) -> None:
        content = {"documents": documents, "position": [position.end, position.offset, position.checksum]}
        write_atomic(SystemFilesystem(), self.path, msgspec.json.encode(content))

    def sync(self) -> None:
        self.events.append("sync")

    def complete(self) -> None:
        self.events.append("complete")

    def close(self) -> None:
        self.events.append("close")


def read_file(path: str) -> dict[str, Any]:
    """What a file target holds."""
    if not os.path.exists(path):
        return {"documents": {}, "position": [0, 0, 0]}
    with open(path, "rb") as file:
        found: dict[str, Any] = msgspec.json.decode(file.read())
    return found
