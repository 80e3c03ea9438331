"""Answers that are not what was asked for: refused, each with its reason, and not asked for again."""

import json
from typing import Any

import pytest

from inorder.documents.embed.providers.server import PROTOCOLS
from inorder.stage.contracts import StageError
from tests.documents.embed.servers import DIMENSIONS, Script, StillTime, client, rows, saying, serving

pytestmark = pytest.mark.req("DOC-5")

TEXTS = ["one", "two"]
ROW = [1.0] * DIMENSIONS


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (rows([ROW]), "1 vectors for 2 texts"),
        (rows([ROW, ROW, ROW]), "3 vectors for 2 texts"),
        (rows([ROW, ROW[:-1]]), "7 dimensions instead of 8"),
        (rows([[], []]), "0 dimensions"),
        (saying(b"[[NaN, 1.0], [1.0, 1.0]]"), "is invalid"),
        (saying(b"[[1e999, 1.0], [1.0, 1.0]]"), "is (invalid|zero or not finite)"),
        (rows([ROW, [1e30] * DIMENSIONS]), None),
        (rows([ROW, [0.0] * DIMENSIONS]), "text 1 is zero or not finite"),
        (saying(b"<html>it works!</html>"), "is invalid"),
        (saying(b'{"error": "overloaded"}'), "is invalid"),
        (saying(b'[["a", "b"], ["c", "d"]]'), "is invalid"),
        (saying(b""), "is invalid"),
    ],
    ids=["few", "many", "ragged", "empty", "nan", "infinite", "huge", "zero", "html", "object", "words", "nothing"],
)
def test_a_bad_answer_is_refused(step: Any, complaint: str | None) -> None:
    script = Script(step)
    with serving(script) as address:
        provider = client(address, StillTime())
        if complaint is None:
            provider.embed(TEXTS)
        else:
            with pytest.raises((StageError, ValueError), match=complaint):
                provider.embed(TEXTS)
        provider.close()
    assert len(script.texts) == 1


def test_an_answer_with_other_dimensions_than_the_first_is_refused() -> None:
    with serving(Script(rows([ROW, ROW]), rows([[1.0] * 9] * 2))) as address:
        provider = client(address, StillTime())
        provider.embed(TEXTS)
        with pytest.raises(StageError, match="9 dimensions instead of 8"):
            provider.embed(TEXTS)
        assert provider.dimensions == 8
        provider.close()


def test_an_answer_without_end_is_cut_off() -> None:
    with serving(Script(rows([ROW] * 50))) as address:
        provider = client(address, StillTime(), answer_bytes_max=100)
        with pytest.raises(StageError, match="longer than 100 bytes"):
            provider.embed(TEXTS)
        provider.close()


@pytest.mark.parametrize("numbers", [[0, 0], [1, 2]])
def test_vectors_that_are_numbered_wrongly_are_refused(numbers: list[int]) -> None:
    answer = json.dumps({"data": [{"index": number, "embedding": ROW} for number in numbers]}).encode()
    with pytest.raises(ValueError, match="numbered"):
        PROTOCOLS["openai"].rows(answer)
