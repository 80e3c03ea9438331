"""Run a model with onnxruntime, on the CPU and in single precision.

Quantized models are refused: they are faster, but their vectors deviate from those of the model (a cosine of 0.89 was
measured).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.batching import Tokens
from inorder.files.optional_deps import require_module

from .base import Matrix
from .tokenizer import Numbers, Tokenizer, pad_batch

BATCH_TOKENS_MAX = 2048
"""On a CPU larger batches are not faster: their intermediate results do not fit the caches."""
LENGTH_RATIO_MIN = 0.9
"""On a CPU a batch of one text is nearly as efficient as a larger one, and padding costs as much as text."""

Feed = Callable[[Numbers, Numbers], Mapping[str, npt.NDArray[Any]]]
"""Makes the inputs of the session from the padded tokens and the length of each text."""
Pool = Callable[[npt.NDArray[np.float32], Numbers], Matrix]
"""Makes one row per text from the output of the session and the length of each text."""


class OnnxEncoder:
    """An encoder from a session, a function that makes its inputs, and one that pools its output."""

    def __init__(
        self, session: Any, tokenizer: Tokenizer, feed: Feed, pool: Pool, output: str, padding: int = 0
    ) -> None:
        self.batch_tokens_max = BATCH_TOKENS_MAX
        self.length_ratio_min = LENGTH_RATIO_MIN
        self._session = session
        self._tokenizer = tokenizer
        self.tokenizer_spec = tokenizer.spec
        self.window = tokenizer.window
        self._feed = feed
        self._pool = pool
        self._output = output
        self._padding = padding
        self.dimensions = self._run(tokenizer.tokenize(["dimensions"])).shape[1]

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text."""
        return self._tokenizer.tokenize(texts)

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """The rows are computed when the returned function is called."""
        return lambda: self._run(batch)

    def close(self) -> None:
        """The session is released with the last reference to it."""

    def _run(self, batch: Sequence[Tokens]) -> Matrix:
        table, lengths = pad_batch(batch, self._padding)
        [output] = self._session.run([self._output], self._feed(table, lengths))
        return self._pool(output, lengths)


def open_session(model: bytes | str, *, by: str, extra: str) -> Any:
    """A session on all cores, for a model in memory or in a file."""
    runtime = require_module("onnxruntime", by=by, extra=extra)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # By default idle threads spin, which takes CPU time from other workers.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def mean_pool(hidden: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """The mean over the tokens of each text, without padding."""
    mask = (np.arange(hidden.shape[1]) < lengths[:, None]).astype(np.float32)
    rows: Matrix = np.einsum("bth,bt->bh", hidden, mask) / lengths[:, None].astype(np.float32)
    return rows


def first_token_pool(hidden: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """The row of the first token of each text."""
    return np.ascontiguousarray(hidden[:, 0])


def no_pool(rows: npt.NDArray[np.float32], lengths: Numbers) -> Matrix:
    """The model already pools."""
    return rows
