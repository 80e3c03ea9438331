"""The terms of a document as the store keeps them. NumPy is not imported: it takes longer to load than many a run."""

import sys
from array import array
from collections.abc import Sequence

import msgspec


class StoredTerms(msgspec.Struct, array_like=True):
    """The terms of all chunks of a document, one after the other."""

    ids: bytes
    text: str
    """The terms, separated by line feeds, which no term has."""
    sizes: list[int]
    """The number of terms of each chunk."""
    counts: bytes
    """The frequency of each term in its chunk: one byte each, or four bytes each."""

    @property
    def has_narrow_counts(self) -> bool:
        """Whether a frequency has one byte."""
        return len(self.counts) == sum(self.sizes)

    def list_counts(self) -> Sequence[int]:
        """The frequencies."""
        return self.counts if self.has_narrow_counts else read_integers(self.counts, "I")


_UNPACK_TERMS = msgspec.msgpack.Decoder(StoredTerms)


def unpack_stored_terms(content: bytes) -> StoredTerms:
    """The inverse of `stored.pack_lexical`, as one table."""
    return _UNPACK_TERMS.decode(content)


def read_integers(packed: bytes, kind: str) -> "array[int]":
    """Numbers in little-endian order, with a type code of `array`."""
    values = array(kind, packed)
    if sys.byteorder == "big":
        values.byteswap()
    return values
