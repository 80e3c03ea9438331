"""What a worker process and the counting process send each other: msgpack over a Unix socket."""

import msgspec

from inorder.documents.embed.totals import FileFacts


class FamilyState(msgspec.Struct, array_like=True):
    """The totals of a family, as they are sent and kept."""

    files: list[tuple[FileFacts, int]]
    nnz: dict[int, int]


class CountsRequest(msgspec.Struct, frozen=True):
    """Asks for the statistics of the corpus."""

    documents: dict[str, int]
    """How many documents have vectors in each family. Statistics of other documents are of no use."""


class CountsReply(msgspec.Struct, frozen=True, kw_only=True):
    """The statistics of the corpus, or nothing."""

    families: dict[str, FamilyState] = {}
    """Empty: not all documents were counted, or others too."""
    statistics: bytes = b""
    terms: int = 0
    length: int = 0
