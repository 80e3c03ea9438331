"""Texts that are longer than what a model reads at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.embed.providers.local_model import ModelProvider
from inorder.documents.embed.providers.tokenizer import TextWindow, cut_windows, enable_windows, pool_windows

pytestmark = pytest.mark.req("DOC-3")

WINDOW = TextWindow(10, 1, 1)


def make_tokens(length: int) -> list[int]:
    """A text of so many tokens between two special ones."""
    return [101, *range(1, length + 1), 102]


@given(st.lists(st.integers(0, 60), max_size=6))
def test_windows_have_every_token_once_and_fit_the_model(lengths: list[int]) -> None:
    texts = [make_tokens(length) for length in lengths]
    windows, counts = cut_windows(texts, WINDOW)
    assert sum(counts) == len(windows)
    taken = iter(windows)
    for text, count in zip(texts, counts, strict=True):
        own = [list(next(taken)) for _ in range(count)]
        assert [token for window in own for token in window[1:-1]] == text[1:-1]
        assert all(window[0] == 101 and window[-1] == 102 and len(window) <= 10 for window in own)
        assert count == max(1, -(-(len(text) - 2) // 8))


def test_the_row_of_a_text_is_the_mean_of_the_directions_of_its_windows() -> None:
    rows = np.array([[3, 0], [0, 5], [1, 1]], np.float32)
    assert pool_windows(rows, [2, 1]).tolist() == [[1, 1], pytest.approx([0.7071, 0.7071], abs=1e-4)]
    assert pool_windows(rows, [1, 1, 1]) is rows


class LastTokens:
    """A model that reads ten tokens, and whose row says which of the tokens 1 to 40 it has read."""

    dimensions, batch_tokens_max, length_ratio_min = 41, 100, 0.0
    window: TextWindow | None = WINDOW

    def tokenize(self, texts):  # type: ignore[no-untyped-def]
        return [make_tokens(len(text)) for text in texts]

    def begin(self, batch):  # type: ignore[no-untyped-def]
        rows = np.zeros((len(batch), 41), np.float32)
        for row, tokens in zip(rows, batch, strict=True):
            assert len(tokens) <= 10
            row[[token for token in tokens if token < 41]] = 1
        return lambda: rows

    def close(self) -> None:
        pass


def test_the_vector_of_a_long_text_depends_on_its_end() -> None:
    provider = ModelProvider("last", LastTokens())
    try:
        short, long = provider.embed(["x" * 5, "x" * 40])
        assert np.flatnonzero(short).tolist() == [1, 2, 3, 4, 5]
        assert np.flatnonzero(long).tolist() == list(range(1, 41))
        assert np.linalg.norm(long) == pytest.approx(1)
    finally:
        provider.close()


def test_the_special_tokens_are_those_of_the_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[S]": 1, "[E]": 2, "[U]": 3}, unk_token="[U]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        "[S] $A [E] [E]", special_tokens=[("[S]", 1), ("[E]", 2)]
    )
    made.add_special_tokens(["[S]", "[E]"])
    window = enable_windows(made, 8)
    assert window == TextWindow(8, 1, 2)
    windows, counts = cut_windows([made.encode("a " * 12).ids], window)
    assert counts == [3]
    assert [list(each) for each in windows] == [[1, 0, 0, 0, 0, 2, 2]] * 3
