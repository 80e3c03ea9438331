"""What worker processes and the process of the providers send each other: msgpack over a Unix socket."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from inorder.documents.embed.providers.base import Matrix, SparseVector
from inorder.documents.embed.providers.tokenizer import TokenizerSpec
from inorder.documents.embed.providers.word_tokenizer import TokenArray
from inorder.errors import Failure


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker process must know of a provider."""

    name: str
    model: str = ""
    device: str = "cpu"
    dimensions: int = 0
    """0: not known before the first vectors."""
    vocabulary_size: int = 0
    tokenizer: TokenizerSpec | None = None
    """If set, the provider takes tokens; otherwise texts."""


class ServiceInfo(msgspec.Struct, frozen=True):
    """The first message to a worker process: the provider of each family, or why it cannot be opened."""

    providers: dict[str, ProviderInfo]
    errors: dict[str, str] = {}


class EmbedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Texts to embed, or their tokens."""

    family: str
    texts: list[str] = []
    tokens: bytes = b""
    lengths: list[int] = []


class EmbedReply(msgspec.Struct, frozen=True, kw_only=True):
    """The vectors of a request, or why there are none."""

    failure: Failure | None = None
    rows: bytes = b""
    width: int = 0
    counts: list[int] = []
    indices: bytes = b""
    weights: bytes = b""
    batches: int = 0
    """Batches that the provider has computed since the last reply to any worker, and the texts in them."""
    batch_texts: int = 0
    retries: int = 0
    """Requests that were sent to a server again since the last reply to any worker."""


def pack_tokens(tokens: Sequence[Sequence[int] | TokenArray]) -> tuple[bytes, list[int]]:
    """The tokens of all texts one after the other, and the number of tokens of each."""
    flat = np.concatenate([np.asarray(each, dtype=np.int32) for each in tokens]) if tokens else np.zeros(0, np.int32)
    return flat.tobytes(), [len(each) for each in tokens]


def unpack_tokens(tokens: bytes, lengths: Sequence[int]) -> list[TokenArray]:
    """The inverse of `pack_tokens`."""
    flat = np.frombuffer(tokens, np.int32)
    return [flat[start:end] for start, end in pairwise(np.cumsum([0, *lengths]).tolist())]


def unpack_rows(reply: EmbedReply) -> Matrix:
    """One row per text."""
    rows: Matrix = np.frombuffer(reply.rows, np.float32).reshape(-1, reply.width)
    return rows


def unpack_sparse(reply: EmbedReply) -> list[SparseVector]:
    """One sparse vector per text."""
    indices, weights = np.frombuffer(reply.indices, np.int32), np.frombuffer(reply.weights, np.float32)
    ends = np.cumsum([0, *reply.counts]).tolist()
    return [(indices[start:end], weights[start:end]) for start, end in pairwise(ends)]
