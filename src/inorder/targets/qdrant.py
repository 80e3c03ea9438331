"""The target `qdrant://host:6333/collection`, or `qdrant:///folder` for the local mode of the client.

    <collection>                the chunks: points with vectors, whose ids are derived from document and chunk
    <collection>_documents      the documents with their hashes, and one point with the position

Qdrant has no transactions. A write first lists its documents without a hash, then puts their chunks, removes those that
they no longer have, lists the documents with their hashes, and stores the position last. Each step waits until it is
applied and can be repeated. A document without a hash is written again by the next export, so in the end no chunk is
missing and none is there twice.

Two exports to one server are not kept apart by a lock. Each write checks that the position is the one that this export
has stored.
"""

import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import numpy as np

from inorder.errors import BusyError, InfrastructureError, InorderError, OperatorError, require
from inorder.files.optional_deps import require_module
from inorder.host.credentials import find_credentials
from inorder.sinks.base import Position

from .base import (
    ExportedChunk,
    ExportedDocument,
    ListedDocument,
    TargetChanges,
    TargetLayout,
    TargetOptions,
    decode_document,
)
from .mismatches import other_content, other_version, wrong_dimensions
from .tables import encode_clean

VERSION = 1
encode = encode_clean
_NAMESPACE = uuid.UUID("9a2a8b7c-6f0e-5c43-9d0b-2f6f6f7b1c55")
_STATE_ID = str(uuid.uuid5(_NAMESPACE, "state"))
_BATCH = 256
"""Points per request."""
_PAGE = 1000
_TIMEOUT_S = 60


def open_target(address: str, options: TargetOptions) -> "QdrantTarget":
    """The target at an address, not yet connected."""
    return QdrantTarget(address, options, require_module("qdrant_client", by="--to qdrant://", extra="qdrant"))


def check_address(address: str) -> None:
    """Raise OperatorError if the server does not let us in; InfrastructureError if it does not answer."""
    open_target(address, TargetOptions()).check_server()


class QdrantTarget:
    """Two collections of a server, or of a local folder."""

    def __init__(self, address: str, options: TargetOptions, qdrant: Any) -> None:
        parts = urlsplit(address)
        self._is_local = not parts.netloc
        self._chunks = options.collection if self._is_local else parts.path.strip("/") or options.collection
        require(not self._is_local or bool(parts.path), "the address of a Qdrant folder is qdrant:///folder")
        require(
            self._chunks.replace("-", "_").isidentifier(),
            f"a collection must be a name of letters, digits and underscores; got {self._chunks!r}",
        )
        require(
            not (options.hnsw and self._is_local),
            "hnsw needs a Qdrant server: its local mode compares all vectors",
        )
        self._documents = f"{self._chunks}_documents"
        self.name = f"{address}#{self._chunks}"
        self._address = address
        self._parts = parts
        self._options = options
        self._qdrant = qdrant
        self._models = qdrant.models
        self._client: Any = None
        self._state: dict[str, Any] = {}
        self._lock = threading.RLock()
        """The local mode may not be used by two threads at once."""
        self._listing: sqlite3.Connection | None = None

    def open(self, layout: TargetLayout) -> None:
        """Connect, and create or check the collections."""
        with self._translate("cannot be opened"):
            self._client = self._connect()
            if self._options.recreate:
                for name in (self._documents, self._chunks):
                    self._client.delete_collection(name)
            self._state = self._prepare(layout)

    def check_server(self) -> None:
        """Ask a server for something, and close the connection."""
        if not self._is_local:
            with self._translate("cannot be opened"):
                self._client = self._connect()
                self._client.collection_exists(self._chunks)
            self.close()

    def read_position(self) -> Position:
        """The position of the last write."""
        return Position(*self._state["position"])

    def list_documents(self, after: str, count: int) -> Sequence[ListedDocument]:
        """Documents in the order of their ids. Qdrant has an order of its own, so the first call reads all of them into
        a temporary file."""
        with self._translate("cannot be read"):
            if self._listing is None:
                self._listing = self._read_listing()
            query = "SELECT doc_id, hash FROM listed WHERE doc_id > ? ORDER BY doc_id LIMIT ?"
            return [ListedDocument(*row) for row in self._listing.execute(query, (after, count))]

    def write(self, changes: TargetChanges, position: Position) -> None:
        """Write step by step, the position last."""
        documents = [decode_document(content) for content in changes.written]
        ids = [*changes.removed_ids, *changes.written_ids]
        with self._translate("cannot be written"):
            held = self._find_held(ids)
            self._list([{"doc_id": doc_id, "hash": ""} for doc_id in ids])
            points = [self._make_point(each, chunk) for each in documents for chunk in each.chunks]
            self._upsert(self._chunks, points)
            if held:
                self._remove_chunks(held, [point.id for point in points])
            self._list([_describe(document) for document in documents])
            if changes.removed_ids:
                removed = [_derive_id(doc_id) for doc_id in changes.removed_ids]
                self._client.delete(self._documents, self._models.PointIdsList(points=removed), wait=True)
            self._store(position)

    def clear(self) -> None:
        """Remove all points, the documents first."""
        with self._translate("cannot be written"):
            everything = self._models.FilterSelector(filter=self._models.Filter())
            for name in (self._documents, self._chunks):
                self._client.delete(name, everything, wait=True)
            self._store(Position())

    def sync(self) -> None:
        """Nothing: every step has waited until it was applied."""

    def complete(self) -> None:
        """Nothing: a server builds its index by itself."""

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
            if self._listing is not None:
                self._listing.close()
                self._listing = None

    def _connect(self) -> Any:
        make = self._qdrant.QdrantClient
        if self._is_local:
            os.makedirs(self._parts.path, exist_ok=True)
            return make(path=self._parts.path, force_disable_check_same_thread=True)
        known = find_credentials(self._address)
        key = known.find_parameter("api_key") or known.find_password() or os.environ.get("QDRANT_API_KEY")
        is_https = parse_qs(self._parts.query).get("https") == ["true"]
        return make(
            host=self._parts.hostname,
            port=self._parts.port or 6333,
            https=is_https,
            api_key=key,
            timeout=_TIMEOUT_S,
            check_compatibility=False,
        )

    def _prepare(self, layout: TargetLayout) -> dict[str, Any]:
        client, models = self._client, self._models
        has_chunks, has_documents = map(client.collection_exists, (self._chunks, self._documents))
        found = client.retrieve(self._documents, [_STATE_ID], with_payload=True) if has_documents else []
        if found:
            return self._check(found[0].payload, layout)
        for name, is_there in ((self._chunks, has_chunks), (self._documents, has_documents)):
            if is_there and client.count(name).count:
                raise other_content(self._address, name)
            if is_there:
                client.delete_collection(name)
        vectors = models.VectorParams(size=layout.dimensions, distance=models.Distance.DOT) if layout.dimensions else {}
        client.create_collection(self._chunks, vectors_config=vectors)
        client.create_collection(self._documents, vectors_config={})
        if not self._is_local:
            client.create_payload_index(self._chunks, "doc_id", models.PayloadSchemaType.KEYWORD, wait=True)
        state = {"version": VERSION, "dimensions": layout.dimensions, "provider": layout.provider}
        self._state = state
        self._store(Position())
        return self._state

    def _check(self, state: dict[str, Any], layout: TargetLayout) -> dict[str, Any]:
        if state.get("version") != VERSION:
            raise other_version(self._address, self._chunks, state.get("version"), VERSION)
        if layout.dimensions and layout.dimensions != state["dimensions"]:
            raise wrong_dimensions(self._address, self._chunks, state["dimensions"], layout)
        return state

    def _read_listing(self) -> sqlite3.Connection:
        listing = sqlite3.connect("", check_same_thread=False)
        listing.execute("CREATE TABLE listed (doc_id TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID")
        offset = None
        while True:
            records, offset = self._client.scroll(
                self._documents, limit=_PAGE, offset=offset, with_payload=["doc_id", "hash"]
            )
            rows = [(each.payload["doc_id"], each.payload["hash"]) for each in records if each.id != _STATE_ID]
            listing.executemany("INSERT OR REPLACE INTO listed VALUES (?, ?)", rows)
            if offset is None:
                return listing

    def _find_held(self, ids: Sequence[str]) -> list[str]:
        """Those of these documents that are listed. Raises BusyError if another export has stored its position."""
        found = self._client.retrieve(self._documents, [_STATE_ID, *map(_derive_id, ids)], with_payload=True)
        payloads = {each.id: each.payload for each in found}
        if payloads.get(_STATE_ID) != self._state:
            raise BusyError(f"{self._address}: another export writes to {self._chunks}; wait until it ends, or stop it")
        return [doc_id for doc_id in ids if _derive_id(doc_id) in payloads]

    def _list(self, documents: Sequence[dict[str, Any]]) -> None:
        make = self._models.PointStruct
        self._upsert(
            self._documents, [make(id=_derive_id(each["doc_id"]), vector={}, payload=each) for each in documents]
        )

    def _store(self, position: Position) -> None:
        self._state = self._state | {
            "position": [position.end, position.offset, position.checksum],
            "token": uuid.uuid4().hex,
        }
        self._upsert(self._documents, [self._models.PointStruct(id=_STATE_ID, vector={}, payload=self._state)])

    def _upsert(self, collection: str, points: Sequence[Any]) -> None:
        for start in range(0, len(points), _BATCH):
            self._client.upsert(collection, points[start : start + _BATCH], wait=True)

    def _remove_chunks(self, doc_ids: Sequence[str], kept: Sequence[str]) -> None:
        models = self._models
        condition = models.Filter(
            must=[models.FieldCondition(key="doc_id", match=models.MatchAny(any=list(doc_ids)))],
            must_not=[models.HasIdCondition(has_id=list(kept))] if kept else None,
        )
        self._client.delete(self._chunks, models.FilterSelector(filter=condition), wait=True)

    def _make_point(self, document: ExportedDocument, chunk: ExportedChunk) -> Any:
        payload = {
            "doc_id": document.doc_id,
            "number": chunk.number,
            "chunk_id": chunk.chunk_id,
            "kind": chunk.kind,
            "source": document.kind,
            "language": document.language,
            "name": chunk.name,
            "headings": chunk.headings,
            "start": chunk.start,
            "end": chunk.end,
            "pages": chunk.pages,
            "text": chunk.text,
        }
        has_vector = bool(chunk.vector) and self._state["dimensions"] > 0
        vector = np.frombuffer(chunk.vector, "<f4").tolist() if has_vector else {}
        point_id = _derive_id(f"{document.doc_id}\0{chunk.number}\0{chunk.chunk_id}")
        return self._models.PointStruct(id=point_id, vector=vector, payload=payload)

    @contextmanager
    def _translate(self, doing: str) -> Iterator[None]:
        """Keep other threads out, and raise an error of the client as ours."""
        with self._lock:
            try:
                yield
            except InorderError:
                raise
            except Exception as error:
                raise self._explain(error, doing) from None

    def _explain(self, error: Exception, doing: str) -> InorderError:
        status = getattr(error, "status_code", None)
        reason = getattr(error, "reason_phrase", None) if status else None
        problem = " ".join(str(reason or error).split())[:300] or type(error).__name__
        if "already accessed by another instance" in problem:
            return BusyError(f"{self._address} is in use by another process; wait until it ends, or stop it")
        if status in (401, 403):
            return OperatorError(
                f"{self._address} {doing}: access was denied ({problem}); the key comes from QDRANT_API_KEY"
            )
        if isinstance(error, (PermissionError, NotADirectoryError)) or (status is not None and status < 500):
            return OperatorError(f"{self._address} {doing}: {problem}")
        return InfrastructureError(f"{self._address} {doing}: {problem}; run again to resume")


def _derive_id(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))


def _describe(document: ExportedDocument) -> dict[str, Any]:
    """What is listed of a document."""
    found = msgspec.structs.asdict(document)
    return {name: value for name, value in found.items() if name != "chunks"} | {"chunks": len(document.chunks)}
