"""`--to lightlog:///FILE`: all documents in one JSON file, which is replaced as a whole."""

import json
import os
from collections.abc import Sequence
from typing import Any

from inorder.plugins import (
    ListedDocument,
    Position,
    TargetChanges,
    TargetLayout,
    TargetOptions,
    decode_document,
)


class Log:
    """The plug-in."""

    def open_target(self, address: str, options: TargetOptions) -> "LogTarget":
        """Return the target at an address. Nothing is opened yet."""
        return LogTarget(address.partition("://")[2], options)


log = Log()


class LogTarget:
    """The documents by id, each with its hash and its texts, and the position of the last write."""

    def __init__(self, path: str, options: TargetOptions) -> None:
        self.name = f"lightlog://{path}"
        self._path = path
        self._options = options

    def open(self, layout: TargetLayout) -> None:
        """Check that the file can be used."""
        if self._options.recreate:
            self.clear()

    def read_position(self) -> Position:
        """The position of the last write."""
        return Position(*self._read()["position"])

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """A page of the documents that the file holds."""
        documents = self._read()["documents"]
        return [ListedDocument(each, documents[each]["hash"]) for each in sorted(documents) if each > after][:count]

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Replace and remove documents."""
        documents = self._read()["documents"]
        for doc_id in changes.removed_ids:
            documents.pop(doc_id, None)
        for document in map(decode_document, changes.written):
            documents[document.doc_id] = {"hash": document.hash, "texts": [chunk.text for chunk in document.chunks]}
        self._replace(documents, position)

    def clear(self) -> None:
        """Remove everything."""
        self._replace({}, Position())

    def sync(self) -> None:
        """Nothing to do: each write is durable."""

    def complete(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def _read(self) -> Any:
        if not os.path.exists(self._path):
            return {"documents": {}, "position": [0, 0, 0]}
        with open(self._path, encoding="utf-8") as file:
            return json.load(file)

    def _replace(self, documents: Any, position: Position) -> None:
        content = {"documents": documents, "position": [position.end, position.offset, position.checksum]}
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{self._path}.new", self._path)
