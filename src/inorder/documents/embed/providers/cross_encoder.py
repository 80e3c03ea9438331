"""`cross-encoder:NAME`: a model that reads a question and a text together and says how well they fit.

NAME is a folder with `model.onnx` and `tokenizer.json`, which onnxruntime runs; or a folder or a name on the model hub
that sentence-transformers loads.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from inorder.errors import OperatorError, require
from inorder.files.optional_deps import require_module
from inorder.host.regular_file import read_regular

from .base import replace_surrogates
from .onnx_encoder import open_session
from .sentence_models import EXTRA, load_model
from .tokenizer import Numbers, enable_truncation, pad_batch

_TOKENS_MAX = 512
_BATCH_TEXTS = 16
_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The inputs that are known, each with the attribute of an encoding."""


class Reranker(Protocol):
    """Scores texts for a question. A higher score is a better fit; scores of different questions are not comparable.

    A plug-in of the kind `rerankers` is called with what follows its name in `--rerank NAME:DETAIL`, and returns one.

    >>> import numpy
    >>> class Overlap:
    ...     def __init__(self, detail):
    ...         self.detail = detail
    ...     def score(self, question, texts):
    ...         return numpy.array([len(set(question.split()) & set(text.split())) for text in texts], float)
    >>> Overlap("").score("lamp oil", ["oil of a lamp", "a log"]).tolist()
    [2.0, 0.0]
    """

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """One score per text."""
        ...


def open_cross_encoder(name: str) -> Reranker:
    """Load the model of this folder, or of this name on the model hub."""
    folder = Path(name)
    if (folder / "model.onnx").is_file():
        return OnnxCrossEncoder(folder)
    by = f"cross-encoder:{name}"
    require(
        not folder.is_dir() or (folder / "config.json").is_file(), f"{by} needs model.onnx or config.json in {name!r}"
    )
    library = require_module("sentence_transformers", by=by, extra=EXTRA)
    return TorchCrossEncoder(load_model(_make_loader(library), name, by))


def _make_loader(library: Any) -> Any:
    return lambda name: library.CrossEncoder(name, num_labels=1)


class TorchCrossEncoder:
    """A model of sentence-transformers."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """One score per text."""
        pairs = [(replace_surrogates(question), replace_surrogates(text)) for text in texts]
        return np.asarray(self._model.predict(pairs, batch_size=_BATCH_TEXTS, show_progress_bar=False), np.float64)


class OnnxCrossEncoder:
    """A folder with a model in ONNX format and its tokenizer."""

    def __init__(self, folder: Path) -> None:
        needs = {"by": f"cross-encoder:{folder}", "extra": "onnx"}
        tokenizers = require_module("tokenizers", **needs)
        path = folder / "tokenizer.json"
        require(path.is_file(), f"cross-encoder:{folder} needs the file tokenizer.json")
        try:
            self._tokenizer = enable_truncation(tokenizers.Tokenizer.from_buffer(read_regular(path)), _TOKENS_MAX)
            self._session = open_session(str(folder / "model.onnx"), **needs)
        except OperatorError:
            raise
        except Exception as error:
            raise OperatorError(f"cannot load cross-encoder:{folder}: {' '.join(str(error).split())[:300]}") from None
        self._inputs = [given.name for given in self._session.get_inputs()]
        unknown = set(self._inputs) - _INPUTS.keys()
        require(not unknown, f"cross-encoder:{folder} has unsupported inputs: {', '.join(sorted(unknown))}")
        outputs = [output for output in self._session.get_outputs() if len(output.shape) == 2 and output.shape[1] == 1]
        require(bool(outputs), f"cross-encoder:{folder} has no output with one number per pair of texts")
        self._output = outputs[0].name

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """One score per text."""
        pairs = [(replace_surrogates(question), replace_surrogates(text)) for text in texts]
        encodings = self._tokenizer.encode_batch(pairs)
        batches = [encodings[start : start + _BATCH_TEXTS] for start in range(0, len(encodings), _BATCH_TEXTS)]
        found = [self._session.run([self._output], self._feed(batch))[0][:, 0] for batch in batches]
        return np.concatenate([np.zeros(0), *found]).astype(np.float64)

    def _feed(self, batch: Sequence[Any]) -> dict[str, Numbers]:
        return {
            name: pad_batch([getattr(encoding, _INPUTS[name]) for encoding in batch], 0)[0] for name in self._inputs
        }
