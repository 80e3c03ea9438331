"""Run any sentence-transformers model in padded batches, in half precision on a GPU."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inorder.documents.embed.batching import Tokens

from .base import Matrix
from .tokenizer import TokenizerSpec, enable_windows, pad_batch, tokenize_texts

TOKENS_MAX = 512
"""The limit if the model does not state one."""
_BATCH_TOKENS_GPU = 65_536
"""Keeps a large GPU busy for longer than the transfer of the next batch takes."""
_BATCH_TOKENS_CPU = 2048
_LENGTH_RATIO_GPU = 0.5
_LENGTH_RATIO_CPU = 0.9
"""Padding costs as much as text, but a GPU needs large batches."""


class TorchEncoder:
    """What encoders of a loaded model have in common: its device, and its tokenizer with the prompt that the model
    needs before every text."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self._device = model.device
        self.device = str(model.device)
        self.batch_tokens_max = _BATCH_TOKENS_CPU if self._device.type == "cpu" else _BATCH_TOKENS_GPU
        tokens_max = model.max_seq_length
        is_plausible = isinstance(tokens_max, int) and 0 < tokens_max <= 1_000_000
        self._tokenizer = model.tokenizer.backend_tokenizer
        self._tokenizer.no_padding()
        self.window = enable_windows(self._tokenizer, tokens_max if is_plausible else TOKENS_MAX)
        self._prompt = (model.prompts or {}).get(model.default_prompt_name, "")
        self.tokenizer_spec = TokenizerSpec(self._tokenizer.to_str(), self._prompt)
        """How another process makes the same tokenizer."""

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text."""
        return tokenize_texts(self._tokenizer, [self._prompt + text for text in texts] if self._prompt else texts)

    def close(self) -> None:
        """The model is released with the last reference to it."""


class PaddedEncoder(TorchEncoder):
    """Runs the model as it was loaded, whatever its architecture."""

    def __init__(self, torch: Any, model: Any) -> None:
        super().__init__(torch, model)
        self._model = model
        self._padding = model.tokenizer.pad_token_id or 0
        self.length_ratio_min = _LENGTH_RATIO_CPU if self._device.type == "cpu" else _LENGTH_RATIO_GPU
        self.dimensions = self.begin(self.tokenize(["dimensions"]))().shape[1]

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """Start a batch on the device."""
        table, lengths = pad_batch(batch, self._padding)
        mask = (np.arange(table.shape[1]) < lengths[:, None]).astype(np.int64)
        with self._torch.inference_mode():
            inputs = {
                "input_ids": copy_to_device(self._torch, table, self._device),
                "attention_mask": copy_to_device(self._torch, mask, self._device),
            }
            return fetch_later(self._torch, self._model(inputs)["sentence_embedding"])


def copy_to_device(torch: Any, values: np.ndarray[Any, Any], device: Any) -> Any:
    """Copy an array to the device. A copy to a GPU does not wait for its current work."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def fetch_later(torch: Any, rows: Any) -> Callable[[], Matrix]:
    """Start copying the rows from the device. The returned function waits for them."""
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
