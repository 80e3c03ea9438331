"""With the compiled module and without it, `inorder run` makes the same index: the same files are found, and the same
content is published."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inorder.dataset.dataset import open as open_data
from inorder.index.lexical import terms
from inorder.index.lexical.plain_counter import PlainCounter
from inorder.stage.files import file_stat
from tests.pipeline.runs import Library, write
from tests.support.in_process import run_in_process

try:
    from inorder.index.lexical.compiled_counter import CompiledCounter
except ImportError:
    CompiledCounter = None  # type: ignore[assignment, misc]

pytestmark = [pytest.mark.req("PKG-1"), pytest.mark.slow]
YEAR_S = 31_556_952
FILES = {
    "log.md": "# Log\n\nThe fog horns were sounded at dusk, 1,000 times. Lampe, Türme, маяк, 灯台.\n",
    "keeper.py": "class LampKeeper:\n    def light_lamp(self, fogHorn):\n        return fogHorn.start2()\n",
    "notes.txt": "häuser " * 400 + "w" * 90,
}
Use = Callable[[object], None]
needs_compiler = pytest.mark.skipif(CompiledCounter is None, reason="inorder was built without a C compiler")
COUNTERS = [pytest.param(CompiledCounter, marks=needs_compiler, id="compiled"), pytest.param(PlainCounter, id="plain")]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Choose the counter of later runs."""

    def choose(counter: object) -> None:
        monkeypatch.setattr(terms, "_open_counter", counter)
        monkeypatch.setattr(terms, "_counters", terms._Counters())

    return choose


def date(path: Path, year: int) -> None:
    """Set when a file was changed; a file system may have a narrower range."""
    time_s = (year - 1970) * YEAR_S
    os.utime(path, (time_s, time_s))


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("year", [1905, 1969, 2263, 2400])
def test_a_file_of_any_date_is_indexed_and_found(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch, counter: object, year: int
) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", -(2**64))  # files that are this new count as old ones
    use(counter)
    write(tmp_path / "docs", **FILES)
    for name in FILES:
        date(tmp_path / "docs" / name, year)
    run = ["run", "docs", "--dense", "hash", "--policy", "io", "--quiet"]
    for _ in range(2):
        assert run_in_process(run, tmp_path, os.environ)[0] == 0
    for question, path in (("sounded at dusk", "docs/log.md"), ("LampKeeper", "docs/keeper.py")):
        code, found, said = run_in_process(["search", question, "-k", "1"], tmp_path, os.environ)
        assert (code, found.partition(" ")[0].partition(":")[0], said) == (0, path, "")


@needs_compiler
def test_the_index_is_the_same_with_either_counter(tmp_path: Path, use: Use) -> None:
    write(tmp_path / "docs", **FILES)
    hashes, hits = set(), []
    for counter in (CompiledCounter, PlainCounter):
        use(counter)
        library = Library(tmp_path / counter.__name__)
        assert library.run(tmp_path / "docs").failed == 0
        hashes.add(library.read_content_hash())
        with open_data(library.data) as data:
            hits.append([(hit.path, hit.score) for hit in data.search("light the lamp at dusk").hits])
    assert len(hashes) == 1
    assert hits[0] == hits[1] != []


@pytest.mark.parametrize("counter", COUNTERS)
def test_every_letter_counts_as_its_small_one(counter: Any) -> None:
    words = [f"q{chr(code)}q" for code in range(ord("a"), ord("z") + 1)]
    small, capital = (counter("").count([text, ""]) for text in (" ".join(words), " ".join(words).upper()))
    assert capital == small
    assert small.vocabulary.split() == words
