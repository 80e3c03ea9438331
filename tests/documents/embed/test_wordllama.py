"""Static word vectors from the package `wordllama`."""

import json
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers.registry import identity, open_dense, policy
from inorder.documents.embed.providers.static import wordllama
from inorder.errors import OperatorError

pytest.importorskip("wordllama", reason="the package wordllama is not installed")
pytestmark = [pytest.mark.req("DOC-3"), pytest.mark.slow]


def test_texts_of_similar_meaning_are_near_without_a_common_word() -> None:
    provider = open_dense("wordllama")
    asked, near, far = provider.embed(
        ["how do I repair my car", "fixing an automobile engine", "the history of medieval painting"]
    )
    assert asked @ near > asked @ far + 0.1
    assert (provider.name, provider.dimensions) == ("wordllama", 256)
    assert policy("wordllama") == "cpu"


def test_a_text_has_the_same_bytes_whatever_stands_beside_it() -> None:
    provider = open_dense("wordllama")
    texts = ["A cat sat on the mat.", "", "x", "word " * 500, "\ud800 odd", "灯塔"]
    together = provider.embed(texts)
    alone = np.concatenate([provider.embed([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert np.allclose(np.linalg.norm(together, axis=1), 1)


def test_other_weights_are_another_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity("wordllama")
    weights = tmp_path / wordllama.WEIGHTS
    weights.parent.mkdir()
    weights.write_bytes(b"other")
    monkeypatch.setattr(wordllama, "package_folder", lambda: tmp_path)
    assert identity("wordllama") != before


@pytest.mark.parametrize("damage", ["missing", "type"])
def test_a_damaged_package_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    real = wordllama.package_folder()
    for name in (wordllama.TOKENIZER, wordllama.WEIGHTS):
        (tmp_path / name).parent.mkdir()
    (tmp_path / wordllama.TOKENIZER).symlink_to(real / wordllama.TOKENIZER)
    if damage == "type":
        head = json.dumps({"embedding.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}).encode()
        (tmp_path / wordllama.WEIGHTS).write_bytes(len(head).to_bytes(8, "little") + head + bytes(4))
    monkeypatch.setattr(wordllama, "package_folder", lambda: tmp_path)
    with pytest.raises(OperatorError, match=r"the package wordllama is damaged; reinstall it: [^\n]*$"):
        open_dense("wordllama")
