"""Models of sentence-transformers, run our way, give what the library gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inorder.documents.embed.providers.base import DenseProvider
from inorder.documents.embed.providers.local_model import ModelProvider
from inorder.documents.embed.providers.registry import identity, open_dense
from inorder.errors import OperatorError
from tests.documents.embed.models import WIDTH, bert_folder

library = pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")

pytestmark = pytest.mark.req("DOC-3")

TEXTS = [f"the number {number} " + "and one word more, " * (number % 7) for number in range(30)] + ["x " * 200, "y"]
KINDS = ["bert", "roberta", "distilbert", "bert-first-token", "bert-prompt"]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each kind, as the library saves it."""
    name = request.param
    made = bert_folder(tmp_path_factory.mktemp("plain"), name.split("-")[0])
    prompts: dict[str, Any] = {}
    if name == "bert-prompt":
        prompts = {"prompts": {"passage": "text: "}, "default_prompt_name": "passage"}
    model = library.SentenceTransformer(str(made), device="cpu", **prompts)
    if name == "bert-first-token":
        model[1] = type(model[1])(WIDTH, pooling_mode="cls")
    saved = tmp_path_factory.mktemp("saved")
    model.save(str(saved))
    return saved


@pytest.fixture(scope="module")
def provider(folder: Path) -> Iterator[DenseProvider]:
    provider = open_dense(f"sentence-transformers:{folder}")
    yield provider
    provider.close()


def test_the_vectors_are_those_of_the_library(folder: Path, provider: DenseProvider) -> None:
    model = library.SentenceTransformer(str(folder), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.sum(provider.embed(TEXTS) * expected, axis=1).min() > 0.999
    assert provider.dimensions == WIDTH


def test_loading_a_model_prints_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    open_dense(f"sentence-transformers:{folder}").close()
    assert "%" not in capfd.readouterr().err


def test_relatives_of_bert_are_run_without_padding_and_the_others_with_it(
    folder: Path, provider: DenseProvider
) -> None:
    assert isinstance(provider, ModelProvider)
    kind = type(provider._batcher._encoder).__name__
    is_relative = "DistilBert" not in (folder / "config.json").read_text()
    assert kind == ("PackedEncoder" if is_relative else "PaddedEncoder")


def test_the_identity_is_that_of_the_files(folder: Path) -> None:
    before = identity(f"sentence-transformers:{folder}")
    assert "torch==" in before
    config = folder / "config.json"
    config.write_text(config.read_text() + " ")
    assert identity(f"sentence-transformers:{folder}") != before


def test_a_model_that_cannot_be_loaded_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OperatorError, match="cannot load sentence-transformers:") as caught:
        open_dense(f"sentence-transformers:{tmp_path}")
    assert "\n" not in str(caught.value)


def test_a_cross_encoder_gives_what_the_library_gives(tmp_path: Path) -> None:
    import transformers

    from inorder.documents.embed.providers.cross_encoder import open_cross_encoder

    encoder = bert_folder(tmp_path)
    config = transformers.BertConfig.from_pretrained(encoder, num_labels=1)
    transformers.BertForSequenceClassification(config).save_pretrained(encoder)
    expected = library.CrossEncoder(str(encoder), num_labels=1).predict([("one", text) for text in TEXTS])
    np.testing.assert_allclose(open_cross_encoder(str(encoder)).score("one", TEXTS), expected, atol=1e-5)
