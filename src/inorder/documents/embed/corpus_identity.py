"""What identifies the vectors of a corpus: a number that changes whenever those of any document do.

It is the sum of one hash per table of vectors. So if few documents have changed, it follows from that of the last run:
their old hashes are subtracted and their new ones are added, and the tables of all others are not read. The sum of the
last run is kept with the facts for the statistics. It is used only if the statistics in the store were made of exactly
these vectors.
"""

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b

from inorder.documents.layout import CHUNK_RESULTS, EMBED
from inorder.stage.store.database import open_store

_BYTES = 32
_MODULUS = 2 ** (8 * _BYTES)


class IdentitySum:
    """A sum of hashes.

    >>> total = IdentitySum()
    >>> total.add({"dense/a": "1", "dense/b": "2"}.items())
    >>> total.subtract({"dense/b": "2"}.items())
    >>> only = IdentitySum()
    >>> only.add([("dense/a", "1")])
    >>> total.encode() == only.encode()
    True
    """

    def __init__(self, encoded: bytes = b"") -> None:
        self._value = int.from_bytes(encoded)

    def add(self, tables: Iterable[tuple[str, str]]) -> None:
        """Add tables: the item id of each, and what changes whenever it changes."""
        self._value = (self._value + _sum_hashes(tables)) % _MODULUS

    def subtract(self, tables: Iterable[tuple[str, str]]) -> None:
        """Subtract tables that were added before."""
        self._value = (self._value - _sum_hashes(tables)) % _MODULUS

    def encode(self) -> bytes:
        """The sum as bytes."""
        return self._value.to_bytes(_BYTES)


def _sum_hashes(tables: Iterable[tuple[str, str]]) -> int:
    texts = [f"{item_id} {found}".encode("utf-8", "surrogatepass") for item_id, found in tables]
    return sum([int.from_bytes(blake2b(text, digest_size=_BYTES).digest()) for text in texts])


class IdentityChange:
    """The sum after a change of few documents. To be made before the stage replaces their vectors."""

    def __init__(self, data: str, families: Collection[str], doc_ids: Iterable[str], last: bytes) -> None:
        self._data = data
        self._families = families
        self._doc_ids = [*doc_ids]
        self._rest = IdentitySum(last)
        self._rest.subtract(self._read_tables(self._doc_ids).items())

    def finish(self) -> bytes:
        """The sum now that the vectors of all documents are made. Those of a document without chunks do not count: they
        are removed later."""
        chunks = open_store(self._data, CHUNK_RESULTS.stage)
        present = {} if chunks is None else chunks.get_all(self._doc_ids)
        self._rest.add(self._read_tables(present).items())
        return self._rest.encode()

    def _read_tables(self, doc_ids: Iterable[str]) -> Mapping[str, str]:
        """The item ids of all vectors of these documents, and the hash of each."""
        store = open_store(self._data, EMBED)
        wanted = [f"{family}/{doc_id}" for doc_id in doc_ids for family in self._families]
        return {} if store is None else {item_id: item.sha256 for item_id, item in store.get_all(wanted).items()}
