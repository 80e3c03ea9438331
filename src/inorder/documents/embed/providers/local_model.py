"""A dense provider that runs a local model, in batches."""

from collections.abc import Sequence

from inorder.documents.embed.batching import Batcher, Encoder, Tokens

from .base import BatchTally, Matrix, normalize_rows
from .tokenizer import TokenizerSpec


class ModelProvider:
    """Embeds texts with an encoder. Thread-safe: all callers share the batches."""

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self.dimensions = encoder.dimensions
        self.device = getattr(encoder, "device", "cpu")
        self.tokenizer: TokenizerSpec | None = getattr(encoder, "tokenizer_spec", None)
        """How other processes tokenize texts for `embed_tokens`; None: they cannot."""
        self.batches = BatchTally()
        self._batcher = Batcher(name.partition(":")[0], encoder, on_batch=self.batches.add)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        return normalize_rows(self._batcher.embed(texts))

    def embed_tokens(self, tokens: Sequence[Tokens]) -> Matrix:
        """One row per text, of which these are the tokens."""
        return normalize_rows(self._batcher.embed_tokens(tokens))

    def close(self) -> None:
        """Release the model. Idempotent."""
        self._batcher.close()
