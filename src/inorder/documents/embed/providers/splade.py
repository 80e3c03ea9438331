"""`splade:NAME`: sparse vectors from a SPLADE model, through sentence-transformers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from inorder.errors import StageError
from inorder.files.optional_deps import require_module
from inorder.lanes import Lane, LaneConfig, NotAdmitted, TaskCancelled

from .base import BatchTally, SparseVector, replace_surrogates
from .sentence_models import EXTRA, load_model

_WAITING_MAX = 16
"""Calls that wait for the model besides the current one."""
_CLOSE_S = 10.0
_BATCH_TEXTS = 32
"""Texts per batch; the default of sentence-transformers."""


def open_splade(name: str) -> "SpladeProvider":
    """Load the model, on a GPU if there is one."""
    by = f"splade:{name}"
    return SpladeProvider(
        by, load_model(require_module("sentence_transformers", by=by, extra=EXTRA).SparseEncoder, name, by)
    )


class SpladeProvider:
    """Encodes texts with a model that a lane with one worker owns. Thread-safe."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model
        self.device = str(getattr(model, "device", "cpu"))
        self.batches = BatchTally()
        # The width that a model reports before its first run is not always correct.
        self.vocabulary_size = int(self._run_model(["words"]).shape[1])
        self._lane = Lane(LaneConfig(name="splade", max_concurrency=1, capacity=_WAITING_MAX))

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """One vector per text, in order."""
        if not texts:
            return []
        try:
            return self._lane.submit(self._encode, [replace_surrogates(text) for text in texts]).result()
        except (NotAdmitted, TaskCancelled):
            raise StageError("the provider was closed", category="provider") from None

    def close(self) -> None:
        """Release the model. Idempotent."""
        self._lane.close(drain=False, timeout_s=_CLOSE_S)

    def _run_model(self, texts: list[str]) -> Any:
        return self._model.encode(
            texts,
            batch_size=_BATCH_TEXTS,
            show_progress_bar=False,
            convert_to_sparse_tensor=True,
            save_to_cpu=True,
        )

    def _encode(self, texts: list[str]) -> list[SparseVector]:
        """The task of the lane."""
        table = self._run_model(texts).coalesce()
        for start in range(0, len(texts), _BATCH_TEXTS):
            self.batches.add(len(texts[start : start + _BATCH_TEXTS]))
        owners, terms = table.indices().numpy()
        weights = table.values().float().numpy()
        if not np.isfinite(weights).all():
            raise ValueError("a sparse vector is not finite")
        starts = np.searchsorted(owners, np.arange(len(texts) + 1))
        return [_drop_zeros(terms[start:end], weights[start:end]) for start, end in pairwise(starts)]


def _drop_zeros(terms: Any, weights: Any) -> SparseVector:
    positive = weights > 0
    return terms[positive].astype(np.int32), weights[positive]
