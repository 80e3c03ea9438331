"""Run BERT and similar models without padding: the texts of a batch are concatenated to one row of tokens.

Most operations of such a model work on each token by itself and need not know where texts end. Attention does, and is
given the boundaries. So nothing is computed for padding, no masks are stored, and a batch is a few large matrix
products, which suit a GPU.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inorder.documents.embed.batching import Tokens

from .base import Matrix
from .torch_encoder import TorchEncoder, copy_to_device, fetch_later

_OFFSET_TYPES = {"roberta", "xlm-roberta", "camembert"}
"""Models whose positions start after the id of the padding token."""
_POOLINGS = {"mean", "cls"}

Attend = Callable[[Any, Any, Any, Any, Sequence[int]], Any]
"""Attention over query, key and value of all tokens, given the text boundaries on the device and the text lengths."""


def is_packable(torch: Any, model: Any) -> bool:
    """Whether `PackedEncoder` supports this model on its device."""
    modules = list(model)
    names = [type(module).__name__ for module in modules]
    if names[:2] != ["Transformer", "Pooling"] or names[2:] not in ([], ["Normalize"]):
        return False
    config = modules[0].auto_model.config
    return (
        config.model_type in {"bert", *_OFFSET_TYPES}
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", None) in (None, "absolute")
        and not getattr(config, "is_decoder", False)
        and modules[1].pooling_mode in _POOLINGS
        and _make_attention(torch, model.device) is not None
    )


class PackedEncoder(TorchEncoder):
    """Runs the weights of a loaded model without padding."""

    def __init__(self, torch: Any, model: Any) -> None:
        bert = model[0].auto_model
        attend = _make_attention(torch, model.device)
        if attend is None:
            raise ValueError(f"no attention without padding on {model.device}")
        super().__init__(torch, model)
        self._attend = attend
        self._first_only = model[1].pooling_mode == "cls"
        self._heads = bert.config.num_attention_heads
        self._offset = bert.config.pad_token_id + 1 if bert.config.model_type in _OFFSET_TYPES else 0
        with torch.inference_mode():
            embeddings = bert.embeddings
            self._words = embeddings.word_embeddings.weight
            # Every token has the first type, so that is added to the positions.
            self._positions = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
            self._norm = embeddings.LayerNorm
            self._layers = [_Layer(torch, layer) for layer in bert.encoder.layer]
        self.length_ratio_min = 0.0
        self.dimensions = bert.config.hidden_size

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """Start a batch on the device."""
        lengths = [len(tokens) for tokens in batch]
        ends = np.cumsum([0, *lengths], dtype=np.int32)
        tokens = np.concatenate([np.asarray(each, dtype=np.int32) for each in batch])
        positions = np.arange(len(tokens), dtype=np.int32) - np.repeat(ends[:-1], lengths) + np.int32(self._offset)
        torch = self._torch
        with torch.inference_mode():
            device_ends = copy_to_device(torch, ends, self._device)
            state = self._words[copy_to_device(torch, tokens, self._device)]
            state = self._norm(state + self._positions[copy_to_device(torch, positions, self._device)])
            for layer in self._layers:
                state = layer.run(state, self._heads, lambda q, k, v: self._attend(q, k, v, device_ends, lengths))
            return fetch_later(torch, self._pool(state, device_ends))

    def _pool(self, state: Any, ends: Any) -> Any:
        if self._first_only:
            return state[ends[:-1]]
        numbers = self._torch.arange(len(state), dtype=ends.dtype, device=ends.device)
        return self._torch.nn.functional.embedding_bag(numbers, state, ends[:-1], mode="mean")


class _Layer:
    """One layer. Query, key and value are computed by one matrix product instead of three."""

    def __init__(self, torch: Any, layer: Any) -> None:
        attention, functions = layer.attention, torch.nn.functional
        parts = (attention.self.query, attention.self.key, attention.self.value)
        self._joined = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        self._attention_output, self._attention_norm = attention.output.dense, attention.output.LayerNorm
        self._wide = layer.intermediate.dense
        self._narrow, self._narrow_norm = layer.output.dense, layer.output.LayerNorm
        self._linear, self._widen = functions.linear, _make_widen(torch, layer.output.dense.weight.device)

    def run(self, state: Any, heads: int, attend: Callable[[Any, Any, Any], Any]) -> Any:
        """The new state of every token."""
        joined = self._linear(state, *self._joined).view(len(state), 3, heads, -1)
        attended = attend(*joined.unbind(1)).reshape(state.shape)
        state = self._attention_norm(self._attention_output(attended).add_(state))
        return self._narrow_norm(self._narrow(self._widen(state, self._wide)).add_(state))


def _make_widen(torch: Any, device: Any) -> Callable[[Any, Any], Any]:
    """A dense layer followed by GELU. On a GPU both are one operation, with an approximate GELU that is exact to half
    precision."""
    fused = getattr(torch, "_addmm_activation", None) if device.type == "cuda" else None
    if fused is None:
        return lambda state, dense: torch.nn.functional.gelu(dense(state))
    return lambda state, dense: fused(dense.bias, state, dense.weight.t(), use_gelu=True)


def _make_attention(torch: Any, device: Any) -> Attend | None:
    """Attention within texts for this device; None if this version of torch does not support it."""
    if device.type == "cpu":
        attention = torch.nn.functional.scaled_dot_product_attention

        def attend_per_text(query: Any, key: Any, value: Any, ends: Any, lengths: Sequence[int]) -> Any:
            parts = zip(*(part.transpose(0, 1).split(lengths, dim=1) for part in (query, key, value)), strict=True)
            return torch.cat([attention(*part) for part in parts], dim=1).transpose(0, 1)

        return attend_per_text
    try:
        varlen = importlib.import_module("torch.nn.attention.varlen").varlen_attn
    except (ImportError, AttributeError):
        return None

    def attend_packed(query: Any, key: Any, value: Any, ends: Any, lengths: Sequence[int]) -> Any:
        longest = max(lengths)
        return varlen(query, key, value, ends, ends, longest, longest)

    return attend_packed if device.type == "cuda" else None
