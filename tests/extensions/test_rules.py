"""The rules for plug-ins: the example keeps them, and each is broken by a plug-in that is wrong in one thing."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inorder.documents.embed.providers.registry import open_dense
from inorder.plugins import Document, Paragraph, Position, ReadError
from inorder.testing import (
    PROVIDER_RULES,
    READER_RULES,
    RERANKER_RULES,
    SOURCE_RULES,
    STEP_RULES,
    TARGET_RULES,
    BrokenRule,
)
from tests.extensions.conftest import LAMP
from tests.support.plugin_package import EXAMPLE

pytestmark = pytest.mark.req("PLG-1")
NOTE = Document(name="note", mimetype="text/plain", blocks=[Paragraph(text="Lamp 17 was lit at 6.")])


@pytest.fixture
def example_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a module of the example."""
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    yield lambda name: importlib.import_module(f"lighthouse.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lighthouse"]:
        del sys.modules[name]


@pytest.mark.parametrize("rule", READER_RULES, ids=lambda rule: rule.__name__)
def test_the_reader_of_the_example_keeps_every_rule(rule: Any, example_module: Callable[[str], Any]) -> None:
    rule(example_module("reader").LampReader, LAMP.encode())


@pytest.mark.parametrize("rule", PROVIDER_RULES, ids=lambda rule: rule.__name__)
def test_providers_of_the_example_and_of_the_package_keep_every_rule(
    rule: Any, example_module: Callable[[str], Any]
) -> None:
    module = example_module("provider")
    for make in (lambda: module.Letters(""), lambda: module.Lengths(""), lambda: open_dense("hash:8")):
        rule(make)


@pytest.mark.parametrize("rule", RERANKER_RULES, ids=lambda rule: rule.__name__)
def test_the_reranker_of_the_example_keeps_every_rule(rule: Any, example_module: Callable[[str], Any]) -> None:
    rule(lambda: example_module("reranker").Overlap(""))


@pytest.mark.parametrize("rule", STEP_RULES, ids=lambda rule: rule.__name__)
def test_the_step_of_the_example_keeps_every_rule(rule: Any, example_module: Callable[[str], Any]) -> None:
    rule(example_module("step").redact, NOTE)


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
def test_the_source_of_the_example_keeps_every_rule(rule: Any, example_module: Callable[[str], Any]) -> None:
    rule(example_module("source").logbook, "1889")


@pytest.mark.parametrize("rule", TARGET_RULES, ids=lambda rule: rule.__name__)
def test_the_target_of_the_example_keeps_every_rule(
    rule: Any, example_module: Callable[[str], Any], tmp_path: Path
) -> None:
    rule(example_module("target").log, lambda place: f"lightlog://{tmp_path}/{place}")


def test_the_readers_of_the_guide_keep_every_rule() -> None:
    guide = (EXAMPLE.parents[1] / "docs" / "guides" / "plug-ins.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(block, names)
    for rule in READER_RULES:
        rule(names["LampReader"], b"lens: It turns.\n")
        names["test_my_reader"](rule)


class PlainReader:
    """Keeps all rules."""

    extensions: Any = ("txt",)
    count = 0

    def read(self, data: bytes, name: str) -> Any:
        try:
            return Document(name=name, mimetype="text/plain", blocks=[Paragraph(text=data.decode())])
        except UnicodeDecodeError:
            raise ReadError("not text") from None


class WithDots(PlainReader):
    extensions = (".TXT",)


class WithoutDocument(PlainReader):
    def read(self, data: bytes, name: str) -> Any:
        return data


class WithOtherTypes(PlainReader):
    def read(self, data: bytes, name: str) -> Any:
        return Document(name=name, mimetype="text/plain", blocks=[Paragraph(text=data)])  # type: ignore[arg-type]


class WithMemory(PlainReader):
    def read(self, data: bytes, name: str) -> Any:
        PlainReader.count += 1
        return Document(name=name, mimetype="text/plain", blocks=[Paragraph(text=str(PlainReader.count))])


class WithAnyError(PlainReader):
    def read(self, data: bytes, name: str) -> Any:
        return Document(name=name, mimetype="text/plain", blocks=[Paragraph(text=data.decode())])


@pytest.mark.parametrize(
    ("reader", "broken"),
    [
        (PlainReader, None),
        (WithDots, "names_its_types"),
        (WithoutDocument, "returns_a_document"),
        (WithOtherTypes, "returns_what_can_be_stored"),
        (WithMemory, "reads_the_same_again"),
        (WithAnyError, "says_what_it_cannot_read"),
    ],
)
def test_a_reader_that_is_wrong_in_one_thing_breaks_its_rule(reader: Any, broken: str | None) -> None:
    assert broken in (None, *find_broken(READER_RULES, reader, b"some text"))
    assert broken is not None or find_broken(READER_RULES, reader, b"some text") == []


class PlainProvider:
    """Keeps all rules."""

    name = "plain"
    dimensions = 2
    is_open = True

    def embed(self, texts: Any) -> Any:
        return np.array([[0.6, 0.8]] * len(texts), np.float32).reshape(len(texts), 2)

    def close(self) -> None:
        self.is_open = False


class Nameless(PlainProvider):
    name = ""


class Short(PlainProvider):
    def embed(self, texts: Any) -> Any:
        return super().embed(texts) / 2


class ByPlace(PlainProvider):
    def embed(self, texts: Any) -> Any:
        angles = np.arange(len(texts))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


class Picky(PlainProvider):
    def embed(self, texts: Any) -> Any:
        for text in texts:
            text.encode()
        return super().embed(texts)


class ClosedOnce(PlainProvider):
    def close(self) -> None:
        if not self.is_open:
            raise ValueError("closed")
        self.is_open = False


class Descending:
    name, vocabulary_size = "descending", 8

    def encode(self, texts: Any) -> Any:
        return [(np.array([3, 1], np.int32), np.ones(2, np.float32)) for _ in texts]

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("provider", "broken"),
    [
        (PlainProvider, None),
        (Nameless, "says_what_it_is"),
        (Short, "gives_one_vector_per_text"),
        (Descending, "gives_one_vector_per_text"),
        (ByPlace, "gives_a_text_the_same_vector_wherever_it_stands"),
        (Picky, "takes_odd_texts"),
        (ClosedOnce, "can_be_closed_twice"),
    ],
)
def test_a_provider_that_is_wrong_in_one_thing_breaks_its_rule(provider: Any, broken: str | None) -> None:
    assert broken in (None, *find_broken(PROVIDER_RULES, provider))
    assert broken is not None or find_broken(PROVIDER_RULES, provider) == []


class PlainReranker:
    """Keeps all rules."""

    def score(self, question: str, texts: Any) -> Any:
        return np.array([len(text) % 7 for text in texts], np.float64)


class WithoutScores(PlainReranker):
    def score(self, question: str, texts: Any) -> Any:
        return super().score(question, texts)[1:]


class ByRank(PlainReranker):
    def score(self, question: str, texts: Any) -> Any:
        return np.arange(len(texts), dtype=np.float64)


class Encoding(PlainReranker):
    def score(self, question: str, texts: Any) -> Any:
        "".join([question, *texts]).encode()
        return super().score(question, texts)


@pytest.mark.parametrize(
    ("reranker", "broken"),
    [
        (PlainReranker, None),
        (WithoutScores, "gives_one_score_per_text"),
        (ByRank, "gives_a_text_the_same_score_wherever_it_stands"),
        (Encoding, "scores_odd_texts"),
    ],
)
def test_a_reranker_that_is_wrong_in_one_thing_breaks_its_rule(reranker: Any, broken: str | None) -> None:
    assert broken in (None, *find_broken(RERANKER_RULES, reranker))
    assert broken is not None or find_broken(RERANKER_RULES, reranker) == []


def count_up(document: Document, name: str) -> Document:
    PlainReader.count += 1
    return Document(name=str(PlainReader.count), mimetype="text/plain", blocks=[])


@pytest.mark.parametrize(
    ("step", "broken"),
    [
        (lambda document, name: document, None),
        (lambda document, name: name, "gives_a_document"),
        (count_up, "gives_the_same_again"),
    ],
)
def test_a_step_that_is_wrong_in_one_thing_breaks_its_rule(step: Any, broken: str | None) -> None:
    assert broken in (None, *find_broken(STEP_RULES, step, NOTE))
    assert broken is not None or find_broken(STEP_RULES, step, NOTE) == []


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"ls": lambda self, path, detail: []}, "reads_whole_files_and_parts"),
        ({"info": lambda self, path: {"type": "directory"}}, "lists_a_folder"),
        ({"cat_file": lambda self, path, start=None, end=None: b"?"}, "reads_whole_files_and_parts"),
        ({"cat_file": lambda self, path, start=None, end=None: b""}, "says_what_is_not_there"),
        ({"open": lambda self, path, mode: BytesIO(b"")}, "reads_whole_files_and_parts"),
    ],
)
def test_a_source_that_is_wrong_in_one_thing_breaks_its_rule(
    change: Any, broken: str, example_module: Callable[[str], Any]
) -> None:
    module = example_module("source")
    plugin = module.LogBook()
    kind = type("Wrong", (module.LogBookFilesystem,), change)
    plugin.open_filesystem = kind
    assert broken in find_broken(SOURCE_RULES, plugin, "1889")


def test_a_source_without_identity_breaks_its_rule(example_module: Callable[[str], Any]) -> None:
    plugin = example_module("source").LogBook()
    for wrong in ("version", (), ("etag",)):
        plugin.identity = wrong
        assert "names_what_identifies_a_version" in find_broken(SOURCE_RULES, plugin, "1889")


@pytest.mark.parametrize(
    ("method", "wrong", "broken"),
    [
        ("read_position", lambda self: Position(1, 1, 1), "begins_empty"),
        ("list_documents", lambda self, after, count: [], "lists_what_was_written"),
        ("write", lambda self, changes, position: None, "replaces_and_removes"),
        ("_replace", lambda self, documents, position: None, "keeps_it_when_it_is_opened_again"),
        ("clear", lambda self: None, "can_be_cleared"),
    ],
)
def test_a_target_that_is_wrong_in_one_thing_breaks_its_rule(
    method: str, wrong: Any, broken: str, example_module: Callable[[str], Any], tmp_path: Path
) -> None:
    module = example_module("target")
    kind = type("Wrong", (module.LogTarget,), {method: wrong})
    plugin = SimpleNamespace(open_target=lambda address, options: kind(address.partition("://")[2], options))
    assert broken in find_broken(TARGET_RULES, plugin, lambda place: f"lightlog://{tmp_path}/{place}")


def find_broken(rules: Any, make: Any, *sample: Any) -> list[str]:
    """The names of the rules that do not hold."""
    found = []
    for rule in rules:
        try:
            rule(make, *sample)
        except (BrokenRule, ValueError, LookupError, TypeError):
            found.append(rule.__name__)
    return found
