"""A dense provider that runs a local model, in batches."""

from collections.abc import Sequence

from inorder.documents.embed.batching import Batcher, Encoder
from inorder.lanes import LaneStatistics

from .base import BatchTally, Matrix, normalize_rows


class ModelProvider:
    """Embeds texts with an encoder. Thread-safe: all callers share the batches."""

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self.dimensions = encoder.dimensions
        self.device = getattr(encoder, "device", "cpu")
        self.batches = BatchTally()
        self._batcher = Batcher(name.partition(":")[0], encoder, on_batch=self.batches.add)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        return normalize_rows(self._batcher.embed(texts))

    def statistics(self) -> LaneStatistics:
        """Statistics of the lane in which requests wait for the model."""
        return self._batcher.statistics()

    def close(self) -> None:
        """Release the model. Idempotent."""
        self._batcher.close()
