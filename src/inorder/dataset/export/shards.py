"""Where one shard ends and the next begins.

Boundaries depend on the documents alone: on their ids and sizes, not on earlier exports. A shard that has its least
size ends after the first document whose id, hashed, falls below a bound that is proportional to the document's size. So
a change of one document moves no boundary but, rarely, the next ones: the other shards keep their bytes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inorder.documents.layout import Result

_ROW_BYTES = 64
"""What a document takes beside its content."""
_RATE = 3
"""Boundaries per `target` bytes, above the least size. Of a thousand shards, eleven reach the greatest size."""


class Shard(NamedTuple):
    """The documents of one shard: those after one id, up to another."""

    after: str
    last: str
    documents: int
    key: str
    """A hash of everything that its bytes depend on."""


class ShardKey:
    """Computes the key of a shard from its documents."""

    def __init__(self, version: str) -> None:
        self._digest = hashlib.sha256(version.encode())

    def add(self, doc_id: str, sha256: str) -> None:
        """Add a document."""
        self._digest.update(f"\0{doc_id}\0{sha256}".encode())

    def finish(self) -> str:
        """The key."""
        return self._digest.hexdigest()


def plan_shards(
    results: Iterable[Result], after: str, *, version: str, target_bytes: int, share: float
) -> Iterator[Shard]:
    """Divide documents into shards of half to twice `target_bytes`. The last may be smaller; a single document may be
    larger. `results` are those that follow `after`. `share` is the size of a shard as a part of its results' sizes."""
    key, size, documents, last = ShardKey(version), 0, 0, after
    for result in results:
        cost = int(result.size * share) + _ROW_BYTES
        if documents and size + cost > 2 * target_bytes:
            yield Shard(after, last, documents, key.finish())
            key, size, documents, after = ShardKey(version), 0, 0, last
        key.add(result.doc_id, result.source.sha256)
        size, documents, last = size + cost, documents + 1, result.doc_id
        if size >= target_bytes / 2 and _is_boundary(result.doc_id, cost, target_bytes):
            yield Shard(after, last, documents, key.finish())
            key, size, documents, after = ShardKey(version), 0, 0, last
    if documents:
        yield Shard(after, last, documents, key.finish())


def _is_boundary(doc_id: str, cost: int, target_bytes: int) -> bool:
    digest = hashlib.sha256(doc_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") * target_bytes < _RATE * cost * 2**64
