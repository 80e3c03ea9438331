"""Code in documents: definitions, imports and calls in blocks of Markdown, notebooks and HTML, and lines of files."""

import json
from typing import Any

import pytest

import inorder
from inorder.documents.chunk.chunks import Chunk, ChunkCode, build_chunks
from inorder.documents.chunk.tokens import count_words
from inorder.documents.chunk.units import Piece
from inorder.index.step import WITHOUT_CODE, make_document_rows
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("IDX-1")

GUIDE = """# Start the horn

See [the log of the keeper](https://log.example) before that, and
the table beside the door.

```python
import hornlib

def start_horn(seconds):
    return blow(seconds)

class FogSignal:
    def sound(self):
        start_horn(3)
```

~~~sh
horn_up() { echo up; }
~~~

```
def unnamed(): pass
```

Stop the horn when the fog has gone.
"""
NOTEBOOK = {
    "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "def read_gauge(x):\n    return x\n"}],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
PAGE = '<h1>Oil</h1><p>How to fill the lamp.</p><pre><code class="language-js">function fillLamp() {}</code></pre>'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("blocks"), dense="none")
    runs.write("docs/horn.md", GUIDE)
    runs.write("docs/gauge.ipynb", json.dumps(NOTEBOOK))
    runs.write("docs/oil.html", PAGE)
    runs.write("docs/log.txt", "22:45 Fog from the west.\n\n23:10 The pilot boat\nreports a dark buoy.\n")
    runs.run("docs")
    return runs


def call(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process((*arguments, "--data", str(runs.data)), runs.folder, clean_environment())


def found(runs: FolderRuns, *question: str) -> Any:
    return json.loads(call(runs, "search", "--json", *question)[1])


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("def:start_horn", ["docs/horn.md:9  function start_horn  def start_horn(seconds)"]),
        ("def:FogSignal.sound", ["docs/horn.md:13  method FogSignal.sound  def sound(self)"]),
        ("sym:horn", ["docs/horn.md:18  function horn_up  horn_up()"]),
        ("ref:start_horn", ["docs/horn.md:14  call start_horn  in FogSignal.sound"]),
        ("imports:hornlib", ["docs/horn.md:7  import hornlib"]),
        ("def:read_gauge", ["docs/gauge.ipynb  function read_gauge  def read_gauge(x)"]),
        ("def:fillLamp", ["docs/oil.html  function fillLamp  function fillLamp()"]),
        ("def:unnamed", []),
    ],
)
def test_what_is_defined_in_a_block_is_found_by_name_and_with_its_line(
    runs: FolderRuns, question: str, lines: list[str]
) -> None:
    code, out, _ = call(runs, "search", question)
    assert (code, out.splitlines()) == (0 if lines else 3, lines)


def test_a_place_in_a_document_says_that_it_is_one(runs: FolderRuns) -> None:
    [place] = found(runs, "def:read_gauge")["places"]
    assert (place["only"], place["line"], place["number"]) == ("document", 0, 0)


def test_callers_and_callees_of_a_definition_in_a_document_are_known(runs: FolderRuns) -> None:
    graph = json.loads(call(runs, "graph", "start_horn", "--json")[1])
    lines = {part: [(each["name"], each["line"]) for each in graph[part]] for part in ("callers", "callees")}
    assert lines == {"callers": [("start_horn", 14)], "callees": [("blow", 10)]}


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("log of the keeper", "docs/horn.md:3"),
        ("fog has gone", "docs/horn.md:25"),
        ("dark buoy", "docs/log.txt:3"),
        ("fill the lamp", "docs/oil.html"),
    ],
)
def test_a_hit_in_text_or_markdown_has_the_line_of_the_file(runs: FolderRuns, question: str, place: str) -> None:
    assert call(runs, "search", "-k", "1", question)[1].startswith(f"{place}  ")
    [hit] = found(runs, "-k", "1", question)["hits"]
    path, _, line = place.partition(":")
    assert (hit["path"], hit["line"], hit["location"]) == (path, int(line) if line else None, place)
    answer = inorder.open(runs.data).search(question, 1)
    assert answer.find_line(answer.hits[0]) == (int(line) if line else 0)


def test_a_line_that_has_gone_is_not_named(runs: FolderRuns) -> None:
    path = runs.folder / "docs" / "log.txt"
    before = path.read_text()
    try:
        path.write_text("Nothing.\n")
        assert found(runs, "-k", "1", "dark buoy")["hits"][0]["location"] == "docs/log.txt"
    finally:
        path.write_text(before)


def test_the_places_of_code_are_those_in_the_text_of_its_chunks() -> None:
    code = "".join(f"    def step_{number}():\n        return {number}\n" for number in range(40))
    pieces = [Piece("Read this first.", "text", "#/texts/0"), Piece(code, "code", "#/texts/1", language="Python")]
    chunks = build_chunks("d", pieces, count_words, 0, 30)
    assert len(chunks) > 3
    parts = [chunk.text[each.start : each.end] for chunk in chunks for each in chunk.code]
    assert "".join("".join(parts).split()) == "".join(code.split())
    rows = make_document_rows("d", chunks)
    assert {f"step_{number}" for number in range(40)} <= {symbol.name for symbol in rows.symbols}
    for symbol in rows.symbols:
        chunk = max((each for each in chunks if each.start <= symbol.start), key=lambda each: each.start)
        at = symbol.start - chunk.start
        assert symbol.name in chunk.text[at:].partition("\n")[0]


def make_chunk(language: str) -> Chunk:
    text = "def one(): pass"
    fields: dict[str, Any] = {"chunk_id": "1", "doc_id": "d", "number": 0, "tokens": 1, "start": 0, "end": len(text)}
    return Chunk(**fields, text=text, section_path=[], pages=[], refs=[], code=[ChunkCode(language, 0, len(text))])


def test_without_grammars_a_document_has_no_definitions_and_a_note() -> None:
    rows = make_document_rows("d", [make_chunk("Python")], uses_grammar=False)
    assert (rows.symbols, rows.note, len(rows.chunks)) == ([], WITHOUT_CODE, 1)
    assert make_document_rows("d", [make_chunk("Haskell")], uses_grammar=False).note == ""


@pytest.mark.parametrize("language", ["YAML", "HTML", "Haskell"])
def test_markup_data_and_languages_without_a_grammar_have_no_definitions(language: str) -> None:
    assert make_document_rows("d", [make_chunk(language)]).symbols == []
