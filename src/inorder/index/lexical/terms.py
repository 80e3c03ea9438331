"""The terms of a chunk, as a worker counts them and sends them to the database."""

import msgspec

from .analysis import count_terms

_COUNT_MAX = 255
_LENGTH_MAX = 65_535


class ChunkTerms(msgspec.Struct, array_like=True, gc=False):
    """How often each term occurs in the text of a chunk, and in its headings: its name, section titles and path."""

    terms: str
    """Separated by spaces."""
    body: bytes
    """For each term, its count in the text, at most 255."""
    head: bytes
    """For each term, its count in the headings, at most 255."""
    body_length: int
    head_length: int


def count_chunk_terms(text: str, headings: str, language: str) -> ChunkTerms:
    """Count the terms of a chunk. `language` is that of the document; empty for program code."""
    body, head = count_terms(text, language), count_terms(headings, language)
    terms = dict.fromkeys(body) | dict.fromkeys(head)
    return ChunkTerms(
        " ".join(terms),
        bytes(min(body[term], _COUNT_MAX) for term in terms),
        bytes(min(head[term], _COUNT_MAX) for term in terms),
        min(body.total(), _LENGTH_MAX),
        min(head.total(), _LENGTH_MAX),
    )


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ChunkTerms)


def encode_terms(terms: ChunkTerms) -> bytes:
    """Encode the terms of a chunk, for the table `pending`."""
    return _ENCODER.encode(terms)


def decode_terms(data: bytes) -> ChunkTerms:
    """The inverse of `encode_terms`."""
    return _DECODER.decode(data)
