"""`onnx:DIR`: a folder with `model.onnx` and `tokenizer.json`, as exporters of sentence models write it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.errors import OperatorError, require
from inorder.files.optional_deps import require_module
from inorder.host.regular_file import read_regular

from .local_model import ModelProvider
from .onnx_encoder import OnnxEncoder, Pool, first_token_pool, mean_pool, no_pool, open_session
from .tokenizer import Numbers, Tokenizer

_NEEDS: Mapping[str, str] = {"by": "onnx:DIR", "extra": "onnx"}
_TOKENS_MAX = 512
"""The limit if no file of the folder states one."""
_QUANTIZED = ("integer", "qlinear", "quantize", "nbits", "qattention", "qgemm")
"""Parts of the names of quantized operators, in lower case."""
_INPUTS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "input_ids": lambda padded, lengths: padded,
    "attention_mask": lambda padded, lengths: (np.arange(padded.shape[1]) < lengths[:, None]).astype(np.int64),
    "token_type_ids": lambda padded, lengths: np.zeros_like(padded),
    "position_ids": lambda padded, lengths: np.broadcast_to(np.arange(padded.shape[1]), padded.shape),
}


class _Pooling(msgspec.Struct):
    """`1_Pooling/config.json`, as sentence-transformers writes it."""

    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False


class _Settings(msgspec.Struct):
    """Settings of the model in other files of the folder."""

    max_seq_length: int | None = None
    max_position_embeddings: int | None = None
    pad_token_id: int | None = None


def open_onnx(folder: str) -> ModelProvider:
    """Load the model of this folder."""
    root = Path(folder)
    require(root.is_dir(), f"no such model folder: {folder!r}")
    path = root / "model.onnx"
    require(path.is_file(), f"onnx:DIR needs the file model.onnx in {folder!r}")
    _refuse_quantized(path)
    sentence, general = _read_settings(root / "sentence_bert_config.json"), _read_settings(root / "config.json")
    tokens_max = sentence.max_seq_length or general.max_position_embeddings or _TOKENS_MAX
    tokenizer = Tokenizer(root / "tokenizer.json", tokens_max, **_NEEDS)
    try:
        session = open_session(str(path), **_NEEDS)
    except OperatorError:
        raise
    except Exception as error:
        raise OperatorError(f"cannot load the model {str(path)!r}: {_to_one_line(error)}") from None
    name, pool = _choose_output(session, root)
    encoder = OnnxEncoder(session, tokenizer, _make_feed(session, path), pool, name, general.pad_token_id or 0)
    return ModelProvider(f"onnx:{folder}", encoder)


def _refuse_quantized(path: Path) -> None:
    onnx = require_module("onnx", **_NEEDS)
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise OperatorError(f"{str(path)!r} is not an ONNX model: {_to_one_line(error)}") from None
    operators = sorted({node.op_type for node in model.graph.node if _is_quantized(node.op_type)})
    require(
        not operators,
        f"{str(path)!r} is quantized ({', '.join(operators)}): its vectors deviate from those of the model and depend "
        f"on the other texts of a batch; use the fp32 export",
    )


def _is_quantized(operator: str) -> bool:
    return any(part in operator.lower() for part in _QUANTIZED)


def _make_feed(session: Any, path: Path) -> Callable[[Numbers, Numbers], Mapping[str, npt.NDArray[Any]]]:
    names = [given.name for given in session.get_inputs()]
    unknown = [name for name in names if name not in _INPUTS]
    require(not unknown, f"{str(path)!r} has unsupported inputs: {', '.join(unknown)}")
    return lambda padded, lengths: {name: _INPUTS[name](padded, lengths) for name in names}


def _choose_output(session: Any, root: Path) -> tuple[str, Pool]:
    """The output to use, and how to pool it into one row per text."""
    outputs = {output.name: len(output.shape) for output in session.get_outputs()}
    if outputs.get("sentence_embedding") == 2:
        return "sentence_embedding", no_pool
    hidden = next((name for name, rank in outputs.items() if rank == 3), None)
    if hidden is None:
        raise OperatorError(f"the model in {str(root)!r} has no output with a vector per token")
    path = root / "1_Pooling" / "config.json"
    if not path.is_file():
        return hidden, mean_pool
    pooling = _read(path, _Pooling)
    require(
        pooling.pooling_mode_mean_tokens != pooling.pooling_mode_cls_token,
        f"{str(path)!r} has an unsupported pooling: neither the mean nor the first token",
    )
    return hidden, mean_pool if pooling.pooling_mode_mean_tokens else first_token_pool


def _read_settings(path: Path) -> _Settings:
    return _read(path, _Settings) if path.is_file() else _Settings()


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OperatorError(f"cannot read {str(path)!r}: {error}") from None


def _to_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
