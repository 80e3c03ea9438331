"""The totals of all vectors, which are the item `__corpus__`, and how they follow a change of few documents: those of
the last run, without what these documents contributed then, and with what they contribute now.

What identifies the vectors is a number that changes whenever those of any document do: the sum of one hash per table of
vectors. So it follows a change in the same way, and the tables of other documents are not read.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec

from inorder.documents.layout import CHUNK_RESULTS, EMBED, find_stored, get_vector_kind, list_current_vectors
from inorder.stage.store.database import open_store

from .totals import FamilyTotals, measure_table

CORPUS = "__corpus__"
_BYTES = 32
_MODULUS = 2 ** (8 * _BYTES)
_BLOCK_DOCUMENTS = 1000
"""Documents that are read at once."""


class CorpusState(msgspec.Struct):
    """The totals of every family, and what identifies the vectors that they are made of."""

    identity: str
    families: dict[str, FamilyTotals]


def encode_state(state: CorpusState) -> bytes:
    """The state as the store keeps it: the same bytes for the same documents."""
    return msgspec.json.encode(_sort(msgspec.to_builtins(state, str_keys=False)))


def _sort(value: Any) -> Any:
    return {name: _sort(value[name]) for name in sorted(value)} if isinstance(value, dict) else value


def decode_state(content: bytes) -> CorpusState:
    """The inverse of `encode_state`."""
    return msgspec.json.decode(content, type=CorpusState)


def read_state(data: str, hash_of: Callable[[str], str]) -> CorpusState | None:
    """The state in the store; None: there is none, or it was made with another configuration. `hash_of` returns the
    configuration of totals of vectors with an identity."""
    store = open_store(data, EMBED)
    found = None if store is None else store.read(CORPUS)
    if found is None:
        return None
    try:
        state = decode_state(found[1])
    except msgspec.MsgspecError:  # of another version
        return None
    return state if found[0].cfg_hash == hash_of(state.identity) else None


def count_corpus(data: str, families: Sequence[str]) -> dict[str, FamilyTotals]:
    """The totals of all documents that have chunks."""
    totals = {family: FamilyTotals() for family in families}
    for family, table in list_current_vectors(data, tuple(families)):
        totals[family].add(measure_table(family, table))
    return totals


class IdentitySum:
    """A sum of hashes.

    >>> total = IdentitySum()
    >>> total.add({"dense/a": "1", "dense/b": "2"}.items())
    >>> total.add({"dense/b": "2"}.items(), times=-1)
    >>> only = IdentitySum()
    >>> only.add([("dense/a", "1")])
    >>> total.encode() == only.encode()
    True
    """

    def __init__(self, encoded: str = "") -> None:
        self._value = int(encoded or "0", 16)

    def add(self, tables: Iterable[tuple[str, str]], times: int = 1) -> None:
        """Add tables: the item id of each, and what changes whenever it changes; with `times=-1`, remove them."""
        texts = [f"{item_id} {found}".encode("utf-8", "surrogatepass") for item_id, found in tables]
        hashes = [int.from_bytes(blake2b(text, digest_size=_BYTES).digest()) for text in texts]
        self._value = (self._value + times * sum(hashes)) % _MODULUS

    def encode(self) -> str:
        """The sum in hexadecimal digits."""
        return f"{self._value:0{2 * _BYTES}x}"


class CorpusChange:
    """The state after a change of few documents. To be made before the stage replaces their vectors."""

    def __init__(self, data: str, families: Collection[str], doc_ids: Iterable[str], last: CorpusState) -> None:
        self._data = data
        self._families = families
        self._doc_ids = [*doc_ids]
        self._identity = IdentitySum(last.identity)
        self._totals = last.families
        self._add(self._doc_ids, times=-1)

    def finish(self) -> CorpusState:
        """The state now that the vectors of all documents are made. Those of a document without chunks do not count:
        they are removed later."""
        chunks = open_store(self._data, CHUNK_RESULTS.stage)
        self._add([] if chunks is None else sorted(chunks.get_all(self._doc_ids)), times=1)
        return CorpusState(self._identity.encode(), self._totals)

    def _add(self, doc_ids: Iterable[str], times: int) -> None:
        rest = iter(doc_ids)
        while block := list(islice(rest, _BLOCK_DOCUMENTS)):
            for family in self._families:
                tables = find_stored(self._data, get_vector_kind(family), block).values()
                for table in tables:
                    self._totals[family].add(measure_table(family, table), times)
                hashes = ((f"{family}/{table.doc_id}", table.stored.sha256) for table in tables if table.stored)
                self._identity.add(hashes, times)
