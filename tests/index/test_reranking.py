"""Ordering the first hits again, with small models made on the spot."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inorder.documents.embed.providers.cross_encoder import open_cross_encoder
from inorder.errors import OperatorError
from inorder.index.ranking import rerank as reranking
from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.documents.embed.models import VOCABULARY, tokenizer
from tests.library.libraries import write
from tests.library.making import make_document

TEXTS = {"a/1.md": "number word", "a/2.md": "number two two", "a/3.md": "number one and the word word"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    write(tmp_path / "data", *(make_document(name, text) for name, text in TEXTS.items()))
    return tmp_path / "data"


def cross_encoder(folder: Path, favourite: str, width: int = 1) -> str:
    """A model that counts one token in both texts."""
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason="the extra onnx is not installed")
    from onnx import TensorProto, helper, numpy_helper, save

    table = np.zeros((len(VOCABULARY), width), np.float32)
    table[VOCABULARY[favourite]] = 1
    names = ["input_ids", "attention_mask", "token_type_ids"]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["found"]),
        helper.make_node("ReduceSum", ["found", "axes"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "count",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", width])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1]), "axes")],
    )
    folder.mkdir()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    save(model, str(folder / "model.onnx"))
    tokenizer().save(str(folder / "tokenizer.json"))
    return f"cross-encoder:{folder}"


def order(data: Path, **options: Any) -> list[str]:
    found = search(find_index(str(data)), "number", SearchOptions(mode="lexical", **options))
    return [hit.item_id for hit in found.hits]


def test_a_cross_encoder_reads_question_and_text_together(tmp_path: Path) -> None:
    model = open_cross_encoder(cross_encoder(tmp_path / "model", "two").partition(":")[2])
    assert model.score("one two", ["two two", "one", "word " * 600]).tolist() == [3.0, 1.0, 1.0]
    assert model.score("one", [f"{'two ' * count}" for count in range(40)]).tolist() == list(range(40))
    assert model.score("one", []).tolist() == []
    assert model.score("\ud800 two", ["\udfff"]).tolist() == [1.0]


def test_the_first_hits_are_ordered_by_the_model(data: Path, tmp_path: Path) -> None:
    assert order(data)[0] == "a/1.md"
    assert order(data, rerank=cross_encoder(tmp_path / "two", "two"))[0] == "a/2.md"
    assert order(data, rerank=cross_encoder(tmp_path / "one", "one"))[0] == "a/3.md"
    assert order(data, rerank=f"cross-encoder:{tmp_path / 'one'}", count=1) == ["a/3.md"]


def test_hits_after_the_first_ones_stay_behind_them(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = order(data)
    monkeypatch.setattr(reranking, "HITS_MAX", 2)
    after = order(data, rerank=cross_encoder(tmp_path / "model", "two"))
    assert set(after[:2]) == set(before[:2])
    assert after[2] == before[2]


def test_a_dense_provider_can_order_too_and_the_score_is_a_sum(data: Path) -> None:
    hits = search(find_index(str(data)), "the word", SearchOptions(mode="lexical", rerank="hash")).hits
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.shares.values()))
        assert set(hit.shares) == {"search", "rerank"}
        assert hit.ranks["rerank"] >= 1


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("magic", "unknown provider 'magic'"),
        ("cross-encoder", "cross-encoder needs a folder or a name"),
        ("cross-encoder:{}", "needs model.onnx or config.json in"),
    ],
)
def test_a_model_that_is_not_there_is_one_line(data: Path, tmp_path: Path, spec: str, complaint: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(OperatorError, match=complaint):
        order(data, rerank=spec.format(tmp_path / "empty"))


def test_a_model_with_another_output_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="has no output with one number per pair"):
        order(data, rerank=cross_encoder(tmp_path / "model", "two", width=2))


def test_a_model_without_its_tokenizer_is_refused(data: Path, tmp_path: Path) -> None:
    spec = cross_encoder(tmp_path / "model", "two")
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(OperatorError, match="needs the file tokenizer"):
        order(data, rerank=spec)
