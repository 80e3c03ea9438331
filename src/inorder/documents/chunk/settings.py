"""Settings of the step `chunk`, and what its result depends on, part by part."""

import hashlib
from typing import Annotated

import msgspec

from inorder.errors import OperatorError, require
from inorder.host.regular_file import read_regular

NAME = "chunk"
VERSION = 5
"""To be raised whenever the same document gets other chunks."""


class ChunkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How documents are chunked."""

    tokens_min: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """A smaller chunk is joined to a neighbour if both fit together; None: half of `tokens_max`."""
    tokens_max: Annotated[int, msgspec.Meta(ge=1)] = 512
    """The largest chunk."""
    tokenizer: str = "words"
    """`words`, or `hf:PATH` for a tokenizer.json."""

    def __post_init__(self) -> None:
        require(
            self.resolved_tokens_min <= self.tokens_max,
            f"tokens_min must be at most tokens_max, got {self.tokens_min} and {self.tokens_max}",
        )

    @property
    def resolved_tokens_min(self) -> int:
        """`tokens_min`, or its default."""
        return self.tokens_max // 2 if self.tokens_min is None else self.tokens_min


def settings_of(settings: ChunkSettings) -> dict[str, str]:
    """Return what chunks depend on besides their document: the value or the version of each part. A tokenizer file is
    read for its hash. Raises `OperatorError` if it cannot be read."""
    return {
        "tokens_min": str(settings.resolved_tokens_min),
        "tokens_max": str(settings.tokens_max),
        "tokenizer": _identify_tokenizer(settings.tokenizer),
    }


def _identify_tokenizer(tokenizer: str) -> str:
    kind, _, path = tokenizer.partition(":")
    if kind != "hf":
        return tokenizer
    try:
        return f"hf:{hashlib.sha256(read_regular(path)).hexdigest()}"
    except OSError as error:
        raise OperatorError(f"cannot read the tokenizer {path}: {error.strerror or error}") from error
