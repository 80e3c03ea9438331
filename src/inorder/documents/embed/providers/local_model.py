"""A dense provider that runs a local model, in batches."""

from collections.abc import Sequence

from inorder.documents.embed.batching import Batcher, Encoder, Tokens

from .base import BatchTally, Matrix, normalize_rows
from .tokenizer import TextWindow, TokenizerSpec, cut_windows, pool_windows


class ModelProvider:
    """Embeds texts with an encoder. Thread-safe: all callers share the batches."""

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self.dimensions = encoder.dimensions
        self.device = getattr(encoder, "device", "cpu")
        self.tokenizer: TokenizerSpec | None = getattr(encoder, "tokenizer_spec", None)
        """How other processes tokenize texts for `embed_tokens`; None: they cannot."""
        self._encoder = encoder
        self._window: TextWindow | None = getattr(encoder, "window", None)
        self.batches = BatchTally()
        self._batcher = Batcher(name.partition(":")[0], encoder, on_batch=self.batches.add)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        return self.embed_tokens(self._encoder.tokenize(texts))

    def embed_tokens(self, tokens: Sequence[Tokens]) -> Matrix:
        """One row per text, of which these are the tokens. A text that is longer than what the model reads at once is
        read in windows, and its row is their mean."""
        if self._window is None:
            return normalize_rows(self._batcher.embed_tokens(tokens))
        windows, counts = cut_windows(tokens, self._window)
        return normalize_rows(pool_windows(self._batcher.embed_tokens(windows), counts))

    def close(self) -> None:
        """Release the model. Idempotent."""
        self._batcher.close()
