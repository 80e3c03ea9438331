"""The word vectors that are part of the package."""

import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers.registry import identity, open_dense
from inorder.documents.embed.providers.static import table
from inorder.documents.embed.providers.static.pieces import PieceCache
from inorder.documents.embed.providers.static.provider import PieceProvider
from inorder.errors import OperatorError

pytestmark = pytest.mark.req("SEA-3")
TEXTS = [
    "how do I repair my car",
    "fixing an automobile engine",
    "the history of medieval painting",
    "",
    "灯塔",
    "x" * 900,
]


def test_texts_of_similar_meaning_are_near_without_a_common_word() -> None:
    asked, near, far, *_ = open_dense("static").embed(TEXTS)
    assert asked @ near > asked @ far + 0.3


@pytest.mark.slow
def test_the_bytes_are_the_same_on_every_machine_and_in_any_company() -> None:
    provider = open_dense("static")
    together = provider.embed([*TEXTS, "word " * 5000])
    alone = np.concatenate([provider.embed([text]) for text in [*TEXTS, "word " * 5000]])
    assert together.tobytes() == alone.tobytes()
    assert sha256(together.tobytes()).hexdigest()[:16] == "4dbe5e12be96365c"
    assert identity("static") == provider.name == "static/2"


def test_words_are_split_into_the_longest_known_pieces() -> None:
    vocabulary = ["fog", "##horn", "horn", "http", "header", "parse", "4", "##2"]
    pieces = PieceCache(vocabulary)

    def split(text: str) -> list[str]:
        return [vocabulary[number] for number in pieces.split_text(text)]

    assert split("Fog-horn, foghorn!") == ["fog", "horn", "fog", "##horn"]
    assert split("parseHTTPHeader parse_http_header") == ["parse", "http", "header"] * 2
    assert split("fóg 42 hörn") == ["fog", "4", "##2", "horn"]
    assert split("unknown foghornx 灯塔 " + "fog" * 17) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("when does the horn sound", True),
        ("Wann ertönt das Nebelhorn?", True),
        ("霧笛はいつ鳴るか", False),
        ("42", False),
    ],
)
def test_a_question_in_another_script_is_not_covered(text: str, expected: bool) -> None:
    assert PieceProvider().covers(text) is expected


@pytest.mark.parametrize("damage", ["missing", "cut", "incomplete"])
def test_a_damaged_table_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    for name in (table.VECTORS, table.VOCABULARY):
        shutil.copy(table.FOLDER / name, tmp_path)
    vectors, vocabulary = tmp_path / table.VECTORS, tmp_path / table.VOCABULARY
    if damage == "missing":
        vectors.unlink()
    elif damage == "cut":
        vectors.write_bytes(vectors.read_bytes()[:-100])
    else:
        vocabulary.write_text("fog\nhorn\n")
    with pytest.raises(OperatorError, match=r"the package inorder is damaged; reinstall it: [^\n]*$"):
        PieceProvider(tmp_path)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    before = table.read_table()
    table.write_table(tmp_path, before)
    assert (tmp_path / table.VECTORS).read_bytes() == (table.FOLDER / table.VECTORS).read_bytes()
    assert table.read_table(tmp_path).vocabulary == before.vocabulary
