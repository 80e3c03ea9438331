"""A provider with a model of its own: texts go in batches to whatever encoder it has."""

from collections.abc import Sequence

from inorder.documents.embed.batching import Batcher, Encoder
from inorder.lanes import LaneStatistics

from .base import Matrix, normalised


class ModelProvider:
    """Safe for any number of threads; all of them share the model's batches."""

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self.dimensions = encoder.dimensions
        self._batcher = Batcher(name.partition(":")[0], encoder)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text, in order."""
        return normalised(self._batcher.embed(texts))

    def statistics(self) -> LaneStatistics:
        """Of the lane in which the model is waited for."""
        return self._batcher.statistics()

    def close(self) -> None:
        """Let go of the model. Twice is once."""
        self._batcher.close()
