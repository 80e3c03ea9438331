"""A folder with an ONNX model and its tokenizer."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers.base import Matrix
from inorder.documents.embed.providers.registry import open_dense
from inorder.errors import OperatorError
from tests.documents.embed.models import WIDTH, onnx_folder, table, tokenizer

for package in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(package, reason="the extra onnx is not installed")

pytestmark = pytest.mark.req("DOC-3")

TEXTS = ["one", "two and one", "the number 7, and a long word", "x"]


def embedded(folder: Path, texts: list[str] = TEXTS) -> Matrix:
    provider = open_dense(f"onnx:{folder}")
    rows = provider.embed(texts)
    assert provider.dimensions == WIDTH
    provider.close()
    return rows


def looked_up(text: str) -> Matrix:
    """The vectors of a text's tokens, as the model finds them."""
    rows: Matrix = table()[tokenizer().encode(text).ids]
    return rows


def unit(rows: list[Matrix]) -> Matrix:
    matrix: Matrix = np.array(rows)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def pooling(folder: Path, **modes: bool) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))


def test_the_mean_over_the_tokens_is_taken_and_padding_left_out(tmp_path: Path) -> None:
    expected = unit([looked_up(text).mean(axis=0) for text in TEXTS])
    np.testing.assert_allclose(embedded(onnx_folder(tmp_path)), expected, atol=1e-6)


def test_the_first_token_is_taken_where_the_folder_says_so(tmp_path: Path) -> None:
    pooling(onnx_folder(tmp_path), pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    np.testing.assert_allclose(embedded(tmp_path), unit([looked_up(text)[0] for text in TEXTS]), atol=1e-6)


def test_a_model_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    rows = embedded(onnx_folder(tmp_path, pooled=True), ["two and one"])
    np.testing.assert_allclose(rows, unit([looked_up("two and one").mean(axis=0)]), atol=1e-6)


def test_texts_are_read_in_windows_as_long_as_the_folder_says(tmp_path: Path) -> None:
    (onnx_folder(tmp_path) / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    expected = []
    for text in TEXTS:
        first, *words, last = tokenizer().encode(text).ids
        count = -(-len(words) // 2)  # each window has two words between the special tokens
        cuts = [len(words) * number // count for number in range(count + 1)]
        windows = [[first, *words[begin:end], last] for begin, end in pairwise(cuts)]
        expected.append(unit([table()[window].mean(axis=0) for window in windows]).mean(axis=0))
    np.testing.assert_allclose(embedded(tmp_path), unit(expected), atol=1e-6)


def test_a_quantised_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"quantized \(DequantizeLinear, DynamicQuantizeLinear\).*fp32"):
        open_dense(f"onnx:{onnx_folder(tmp_path, operator='DynamicQuantizeLinear')}")


def test_a_model_with_other_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="has unsupported inputs: pixels"):
        open_dense(f"onnx:{onnx_folder(tmp_path, wants='pixels')}")


def test_an_unknown_pooling_is_refused(tmp_path: Path) -> None:
    pooling(onnx_folder(tmp_path), pooling_mode_max_tokens=True)
    with pytest.raises(OperatorError, match="neither the mean nor the first token"):
        open_dense(f"onnx:{tmp_path}")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (onnx_folder(tmp_path) / name).unlink()
    with pytest.raises(OperatorError, match=f"needs the file {name} in"):
        open_dense(f"onnx:{tmp_path}")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    (onnx_folder(tmp_path) / name).write_bytes(b"\x00\xff not this\n at all")
    with pytest.raises(OperatorError, match=name) as caught:
        open_dense(f"onnx:{tmp_path}")
    assert "\n" not in str(caught.value)
