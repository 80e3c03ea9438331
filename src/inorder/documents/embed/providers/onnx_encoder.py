"""A model that onnxruntime runs, on the CPU and in single precision.

Half of the numbers would be cheaper to compute in eight bits, and the vectors would be other ones (cosine 0.89 to the
true ones was seen), so quantised models are not run at all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.batching import Tokens
from inorder.files.optional_deps import require_module

from .base import Matrix
from .tokenizer import Numbers, Tokeniser, padded

BATCH_TOKENS_MAX = 2048
"""On a CPU larger batches are not faster: their intermediate results leave the caches."""
LENGTH_RATIO_MIN = 0.9
"""On a CPU a batch of one text is nearly as quick as one of many, and padding costs as much as text."""

Feed = Callable[[Numbers, Numbers], Mapping[str, npt.NDArray[Any]]]
"""What the session is given, from the padded tokens and the length of each text."""
Pool = Callable[[npt.NDArray[np.float32], Numbers], Matrix]
"""One row a text, from what the session gave and the length of each text."""


class OnnxEncoder:
    """A session, what to feed it with, and what to make of its output."""

    def __init__(
        self, session: Any, tokeniser: Tokeniser, feed: Feed, pool: Pool, output: str, padding: int = 0
    ) -> None:
        self.batch_tokens_max = BATCH_TOKENS_MAX
        self.length_ratio_min = LENGTH_RATIO_MIN
        self._session = session
        self._tokeniser = tokeniser
        self._feed = feed
        self._pool = pool
        self._output = output
        self._padding = padding
        self.dimensions = self._run(tokeniser.tokenise(["dimensions"])).shape[1]

    def tokenise(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text."""
        return self._tokeniser.tokenise(texts)

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """The rows of a batch, computed when they are asked for."""
        return lambda: self._run(batch)

    def close(self) -> None:
        """The session goes with the last who holds it."""

    def _run(self, batch: Sequence[Tokens]) -> Matrix:
        table, lengths = padded(batch, self._padding)
        [output] = self._session.run([self._output], self._feed(table, lengths))
        return self._pool(output, lengths)


def open_session(model: bytes | str, *, by: str, extra: str) -> Any:
    """A session for a model in memory or in a file, on all cores."""
    runtime = require_module("onnxruntime", by=by, extra=extra)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # Idle threads must not burn what the rest of the run could use.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def mean_pool(hidden: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """The mean over the tokens of each text, padding left out."""
    mask = (np.arange(hidden.shape[1]) < lengths[:, None]).astype(np.float32)
    rows: Matrix = np.einsum("bth,bt->bh", hidden, mask) / lengths[:, None].astype(np.float32)
    return rows


def first_token(hidden: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """What the model made of the token that opens each text."""
    return np.ascontiguousarray(hidden[:, 0])


def as_it_is(rows: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """The model has pooled by itself."""
    return rows
