"""Texts into the numbers that a model reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inorder.core.options import OperatorError

from .base import encodable
from .packages import needed


class Tokeniser:
    """A `tokenizer.json`, cutting every text to what its model can take. Safe for any number of threads."""

    def __init__(self, path: Path, tokens_max: int, *, by: str, extra: str) -> None:
        tokenizers = needed("tokenizers", by=by, extra=extra)
        if not path.is_file():
            raise OperatorError(f"{by} needs the file {path.name} in {str(path.parent)!r}")
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise OperatorError(f"the tokenizer {str(path)!r} cannot be read: {error}") from None
        self._tokenizer = cutting(tokenizer, tokens_max)

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, those that open and close it included."""
        return tokens_of(self._tokenizer, texts)


def cutting(tokenizer: Any, tokens_max: int) -> Any:
    """The tokenizer, set to cut and not to pad: padding is for whoever makes the batches."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
    return tokenizer


def tokens_of(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """What the tokenizer makes of each text, on as many cores as there are."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast([encodable(text) for text in texts])]
