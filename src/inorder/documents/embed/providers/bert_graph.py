"""Build the ONNX graph of a BERT encoder from its weights, in memory.

The graph uses the fused operators of onnxruntime directly (attention with a length per text, addition with
normalization, bias with GELU). So it does not depend on a graph optimizer, and no framework is needed to build it.
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
    """The parameters of a BERT besides its weights: fields of its `config.json`."""

    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float


def build_bert_graph(weights: Weights, shape: BertShape, *, by: str, extra: str) -> bytes:
    """A serialized model. Its inputs are padded `tokens` and the `lengths` of the texts. Its output is the `hidden`
    state of every token."""
    graph = _GraphBuilder(require_module("onnx", by=by, extra=extra), weights, shape.layer_norm_eps)
    state = graph.add_embeddings()
    for layer in range(shape.num_hidden_layers):
        state = graph.add_layer(state, f"encoder.layer.{layer}.", shape.num_attention_heads)
    return graph.serialize(state)


class _GraphBuilder:
    def __init__(self, onnx: Any, weights: Weights, epsilon: float) -> None:
        self._onnx = onnx
        self._weights = weights
        self._epsilon = epsilon
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add_embeddings(self) -> str:
        """The normalized sum of word and position. Every token has the first type: it is added to the positions."""
        table = self._weights["embeddings.word_embeddings.weight"]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        positions = self._constant(self._weights["embeddings.position_embeddings.weight"] + kind)
        words = self._node("Gather", self._constant(table), TOKENS)
        width = self._node("Shape", TOKENS, start=1, end=2)
        start = self._constant(np.zeros(1, dtype=np.int64))
        total = self._node("Add", words, self._node("Slice", positions, start, width))
        scale, shift = self._norm("embeddings.LayerNorm")
        return self._node("LayerNormalization", total, scale, shift, epsilon=self._epsilon)

    def add_layer(self, state: str, at: str, heads: int) -> str:
        """Attention and a feed-forward network, each added to its input and normalized."""
        attended = self._node(
            "Attention", state, *self._attention_weights(f"{at}attention.self."), LENGTHS, fused=True, num_heads=heads
        )
        state = self._add_and_normalize(attended, state, f"{at}attention.output.")
        wide = self._node("MatMul", state, self._matrix(f"{at}intermediate.dense"))
        wide = self._node("BiasGelu", wide, self._bias(f"{at}intermediate.dense"), fused=True)
        return self._add_and_normalize(wide, state, f"{at}output.")

    def serialize(self, state: str) -> bytes:
        """The graph with `state` as its output."""
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
        data: bytes = model.SerializeToString()
        return data

    def _add_and_normalize(self, state: str, before: str, at: str) -> str:
        dense = self._node("MatMul", state, self._matrix(f"{at}dense"))
        inputs = (dense, before, *self._norm(f"{at}LayerNorm"), self._bias(f"{at}dense"))
        return self._node("SkipLayerNormalization", *inputs, fused=True, epsilon=self._epsilon)

    def _attention_weights(self, at: str) -> tuple[str, str]:
        """Matrix and bias of query, key and value, concatenated as the attention operator needs them."""
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
