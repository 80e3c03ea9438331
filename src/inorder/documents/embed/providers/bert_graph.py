"""A BERT encoder as an ONNX graph, made from its weights in memory.

The fused operators of onnxruntime are used directly (attention with a length for each text, addition with
normalisation, bias with GELU), so nothing is left to an optimiser's luck, and no framework is needed to make the graph.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inorder.files.optional_deps import require_module

Weights = Mapping[str, npt.NDArray[np.float32]]

TOKENS, LENGTHS, HIDDEN = "tokens", "lengths", "hidden"
_FUSED = "com.microsoft"


class BertShape(msgspec.Struct, frozen=True):
    """What must be known of a BERT beside its weights; the fields of its `config.json`."""

    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float


def bert_graph(weights: Weights, shape: BertShape, *, by: str, extra: str) -> bytes:
    """A serialised model: padded `tokens` and the `lengths` of the texts in, the `hidden` state of every token out."""
    graph = _Graph(require_module("onnx", by=by, extra=extra), weights, shape.layer_norm_eps)
    state = graph.embeddings()
    for layer in range(shape.num_hidden_layers):
        state = graph.layer(state, f"encoder.layer.{layer}.", shape.num_attention_heads)
    return graph.serialised(state)


class _Graph:
    def __init__(self, onnx: Any, weights: Weights, epsilon: float) -> None:
        self._onnx = onnx
        self._weights = weights
        self._epsilon = epsilon
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def embeddings(self) -> str:
        """Word and position, normalised. Every token is of the first type, so that is a part of its position."""
        table = self._weights["embeddings.word_embeddings.weight"]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant(self._weights["embeddings.position_embeddings.weight"] + kind)
        words = self._node("Gather", self._constant(table), TOKENS)
        width = self._node("Shape", TOKENS, start=1, end=2)
        start = self._constant(np.zeros(1, dtype=np.int64))
        total = self._node("Add", words, self._node("Slice", places, start, width))
        scale, shift = self._norm("embeddings.LayerNorm")
        return self._node("LayerNormalization", total, scale, shift, epsilon=self._epsilon)

    def layer(self, state: str, at: str, heads: int) -> str:
        """Attention and the two dense maps after it, each added to what came in and normalised."""
        attended = self._node(
            "Attention", state, *self._joined(f"{at}attention.self."), LENGTHS, fused=True, num_heads=heads
        )
        state = self._added(attended, state, f"{at}attention.output.")
        wide = self._node("MatMul", state, self._matrix(f"{at}intermediate.dense"))
        wide = self._node("BiasGelu", wide, self._bias(f"{at}intermediate.dense"), fused=True)
        return self._added(wide, state, f"{at}output.")

    def serialised(self, state: str) -> bytes:
        """The graph that ends in this state."""
        helper, number = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [state], [HIDDEN]))
        inputs = [
            helper.make_tensor_value_info(TOKENS, number.INT64, ["texts", "tokens"]),
            helper.make_tensor_value_info(LENGTHS, number.INT32, ["texts"]),
        ]
        width = self._weights["embeddings.word_embeddings.weight"].shape[1]
        outputs = [helper.make_tensor_value_info(HIDDEN, number.FLOAT, ["texts", "tokens", width])]
        graph = helper.make_graph(self._nodes, "bert", inputs, outputs, self._constants)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=versions, ir_version=8)
        serialised: bytes = model.SerializeToString()
        return serialised

    def _added(self, state: str, before: str, at: str) -> str:
        dense = self._node("MatMul", state, self._matrix(f"{at}dense"))
        inputs = (dense, before, *self._norm(f"{at}LayerNorm"), self._bias(f"{at}dense"))
        return self._node("SkipLayerNormalization", *inputs, fused=True, epsilon=self._epsilon)

    def _joined(self, at: str) -> tuple[str, str]:
        """Query, key and value side by side, as the attention operator wants them."""
        parts = ("query", "key", "value")
        matrix = np.concatenate([self._weights[f"{at}{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{at}{part}.bias"] for part in parts])
        return self._constant(matrix), self._constant(bias)

    def _norm(self, at: str) -> tuple[str, str]:
        return self._constant(self._weights[f"{at}.weight"]), self._bias(at)

    def _matrix(self, at: str) -> str:
        return self._constant(self._weights[f"{at}.weight"].T)

    def _bias(self, at: str) -> str:
        return self._constant(self._weights[f"{at}.bias"])

    def _constant(self, values: npt.NDArray[Any]) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, operator: str, *inputs: str, fused: bool = False, **attributes: Any) -> str:
        name = f"node{len(self._nodes)}"
        domain = _FUSED if fused else ""
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name
