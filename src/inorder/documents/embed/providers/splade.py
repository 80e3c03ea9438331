"""`splade:NAME`: sparse vectors from a model that weighs the words of its vocabulary, through sentence-transformers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from inorder.files.optional_deps import require_module
from inorder.lanes import Lane, LaneConfig, NotAdmitted, TaskCancelled
from inorder.stage.contracts import StageError

from .base import SparseVector, encodable
from .sentence_models import EXTRA, load

_WAITING_MAX = 16
"""Callers' texts that wait for the model beyond those it is at."""
_CLOSE_S = 10.0


def open_splade(name: str) -> "SpladeProvider":
    """The model, on a GPU if there is one."""
    by = f"splade:{name}"
    return SpladeProvider(by, load(require_module("sentence_transformers", by=by, extra=EXTRA).SparseEncoder, name, by))


class SpladeProvider:
    """Safe for any number of threads: a lane with one worker owns the model."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model
        # What a model says of itself before it was ever run is not always true.
        self.vocabulary_size = int(self._rows(["words"]).shape[1])
        self._lane = Lane(LaneConfig(name="splade", max_concurrency=1, capacity=_WAITING_MAX))

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """A vector for each text, in order."""
        if not texts:
            return []
        try:
            return self._lane.submit(self._encode, [encodable(text) for text in texts]).result()
        except (NotAdmitted, TaskCancelled):
            raise StageError("the provider was closed", category="provider") from None

    def close(self) -> None:
        """Let go of the model. Twice is once."""
        self._lane.close(drain=False, timeout_s=_CLOSE_S)

    def _rows(self, texts: list[str]) -> Any:
        return self._model.encode(texts, show_progress_bar=False, convert_to_sparse_tensor=True, save_to_cpu=True)

    def _encode(self, texts: list[str]) -> list[SparseVector]:
        """The task in the lane."""
        table = self._rows(texts).coalesce()
        owners, terms = table.indices().numpy()
        weights = table.values().float().numpy()
        if not np.isfinite(weights).all():
            raise ValueError("a sparse vector is not finite")
        starts = np.searchsorted(owners, np.arange(len(texts) + 1))
        return [_kept(terms[start:end], weights[start:end]) for start, end in pairwise(starts)]


def _kept(terms: Any, weights: Any) -> SparseVector:
    """Without those that count for nothing."""
    counts = weights > 0
    return terms[counts].astype(np.int32), weights[counts]
