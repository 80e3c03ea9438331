"""Any sentence-transformers model, in batches that we make: sorted, padded, in half precision where there is a GPU."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inorder.documents.embed.batching import Tokens

from .base import Matrix
from .tokenizer import cutting, padded, tokens_of

TOKENS_MAX = 512
"""Where the model does not say how many tokens it takes."""
_BATCH_TOKENS_GPU = 65_536
"""Keeps a large GPU busy for longer than it takes to hand over the next batch."""
_BATCH_TOKENS_CPU = 2048
_LENGTH_RATIO_GPU = 0.5
_LENGTH_RATIO_CPU = 0.9
"""Padding costs as much as text; a GPU needs large batches all the same."""


class ModelTokeniser:
    """The tokenizer of a loaded model, with the words that the model wants before every text."""

    def __init__(self, model: Any) -> None:
        tokens_max = model.max_seq_length
        sensible = isinstance(tokens_max, int) and 0 < tokens_max <= 1_000_000
        self._tokenizer = cutting(model.tokenizer.backend_tokenizer, tokens_max if sensible else TOKENS_MAX)
        self._prompt = (model.prompts or {}).get(model.default_prompt_name, "")

    def tokenise(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text."""
        return tokens_of(self._tokenizer, [self._prompt + text for text in texts] if self._prompt else texts)


class PaddedEncoder:
    """Runs the model as it was loaded, whatever it is made of."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._model = model
        self._device = model.device
        self._tokeniser = ModelTokeniser(model)
        self._padding = model.tokenizer.pad_token_id or 0
        self.batch_tokens_max = batch_tokens_on(self._device)
        self.length_ratio_min = _LENGTH_RATIO_CPU if self._device.type == "cpu" else _LENGTH_RATIO_GPU
        self.dimensions = self.begin(self.tokenise(["dimensions"]))().shape[1]

    def tokenise(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text."""
        return self._tokeniser.tokenise(texts)

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """Hand a batch to the device."""
        table, lengths = padded(batch, self._padding)
        mask = (np.arange(table.shape[1]) < lengths[:, None]).astype(np.int64)
        with self._torch.inference_mode():
            given = {
                "input_ids": on_device(self._torch, table, self._device),
                "attention_mask": on_device(self._torch, mask, self._device),
            }
            return rows_later(self._torch, self._model(given)["sentence_embedding"])

    def close(self) -> None:
        """The model goes with the last who holds it."""


def batch_tokens_on(device: Any) -> int:
    """Tokens in a batch that suit the device."""
    return _BATCH_TOKENS_CPU if device.type == "cpu" else _BATCH_TOKENS_GPU


def on_device(torch: Any, values: np.ndarray[Any, Any], device: Any) -> Any:
    """The numbers where the model is; the copy to a GPU does not wait for what the GPU is doing."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def rows_later(torch: Any, rows: Any) -> Callable[[], Matrix]:
    """The rows, fetched once they are computed; until they are asked for, nobody waits."""
    if rows.device.type != "cuda":
        return lambda: rows.float().cpu().numpy()
    fetched = torch.empty(rows.shape, dtype=torch.float32, pin_memory=True)
    fetched.copy_(rows, non_blocking=True)
    done = torch.cuda.Event()
    done.record()

    def wait() -> Matrix:
        done.synchronize()
        arrived: Matrix = fetched.numpy()
        return arrived

    return wait
