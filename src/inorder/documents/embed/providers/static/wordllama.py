"""`wordllama`: static word vectors from an installed package, without a model to run.

Each token has a fixed vector, and the vector of a text is the mean of those of its tokens. So a text takes
microseconds, and no processor differs in its result: the sums are taken in one order, with 64 bits. The weights and the
tokenizer are in the wheel of the package `wordllama`. The package itself is not imported: its loader looks for the
tokenizer on the network.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.base import Matrix, replace_surrogates
from inorder.errors import OperatorError
from inorder.files.optional_deps import find_package, require_module
from inorder.host.regular_file import open_regular, read_regular

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
HalfFloats = npt.NDArray[np.float16]
_NEEDS: Mapping[str, str] = {"by": "wordllama", "extra": "wordllama"}


def package_folder() -> Path:
    """The folder of the package."""
    return find_package(PACKAGE, **_NEEDS)


def open_wordllama() -> "StaticProvider":
    """Map the weights into memory and load the tokenizer."""
    folder = package_folder()
    tokenizers = require_module("tokenizers", **_NEEDS)
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(read_regular(folder / TOKENIZER))
        weights = read_tensor(folder / WEIGHTS, _TENSOR)
    except Exception as error:
        raise OperatorError(f"wordllama: the package {PACKAGE} is damaged; reinstall it: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return StaticProvider(PACKAGE, tokenizer, weights)


def read_tensor(path: Path, name: str) -> HalfFloats:
    """A tensor of 16-bit floats in a file of safetensors, mapped into memory."""
    with open_regular(path) as file:
        size = int.from_bytes(file.read(8), "little")
        described = json.loads(file.read(size))[name]
    if described["dtype"] != "F16":
        raise ValueError(f"{name} has the type {described['dtype']}, not F16")
    start = 8 + size + described["data_offsets"][0]
    return np.memmap(path, dtype="<f2", mode="r", offset=start, shape=tuple(described["shape"]))


class StaticProvider:
    """The mean of the vectors of the tokens of a text, scaled to unit length."""

    def __init__(self, name: str, tokenizer: Any, weights: HalfFloats) -> None:
        self.name = name
        self.dimensions = int(weights.shape[1])
        self._tokenizer = tokenizer
        self._weights = weights

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text. A text without tokens gets the first unit vector."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float64)
        encoded = self._tokenizer.encode_batch([replace_surrogates(text) for text in texts], add_special_tokens=False)
        for row, tokens in zip(rows, encoded, strict=True):
            row += self._weights[tokens.ids].sum(axis=0, dtype=np.float64)
        lengths = np.sqrt((rows * rows).sum(axis=1))
        rows[lengths == 0, 0] = 1.0
        lengths[lengths == 0] = 1.0
        unit: Matrix = (rows / lengths[:, None]).astype(np.float32)
        return unit

    def close(self) -> None:
        """There is nothing to release."""
