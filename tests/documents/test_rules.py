"""What steps keep, take away and do again: each rule by a small corpus in this process."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

import inorder
from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.step import HISTOGRAM
from inorder.documents.chunk.tokens import count_words
from inorder.documents.chunk.units import Piece
from inorder.documents.quantiles import find_quantile
from inorder.library.reader import LibraryReader
from inorder.pipeline.sources import classify
from tests.documents.embed.models import tokenizer
from tests.documents.stage_runs import StageRuns
from tests.documents.workspace import PROSE


@pytest.fixture
def runs(tmp_path: Path) -> StageRuns:
    made = StageRuns(tmp_path)
    made.write("docs/note.md", "# Note\n\n" + PROSE * 40)
    return made


@pytest.fixture
def chunked(runs: StageRuns) -> StageRuns:
    runs.doctags()
    runs.chunk(tokens_max=100, tokens_min=10)
    return runs


# ---- discovery


def test_a_link_into_a_sibling_folder_with_the_same_beginning_is_not_read(runs: StageRuns) -> None:
    secret = runs.write("docs2/secret.txt", "not yours\n")
    inside = runs.write("docs/own.txt", "ours\n")
    (runs.docs / "out.txt").symlink_to(secret)
    (runs.docs / "in.txt").symlink_to(inside)
    runs.doctags()
    assert runs.documents() == ["docs/in.txt", "docs/note.md"]
    assert runs.copies() == [("docs/own.txt", "docs/in.txt")]
    assert runs.reasons() == {"docs/out.txt": "a symbolic link to a file outside of the source folder"}


def test_data_below_a_source_is_no_document_and_its_neighbours_are(runs: StageRuns) -> None:
    runs.write("data/own.txt", "inside\n")
    runs.write("data2/other.txt", "beside\n")
    runs.doctags(".")
    assert sorted(name.rpartition("/")[2] for name in runs.rows("doctags")) == ["note.md", "other.txt"]


@pytest.mark.slow
@pytest.mark.req("DOC-4")
def test_documents_of_other_sources_stay(runs: StageRuns) -> None:
    runs.write("more/other.md", PROSE)
    runs.doctags("docs")
    runs.doctags("more")
    assert runs.documents() == ["docs/note.md", "more/other.md"]
    (runs.docs / "note.md").unlink()
    runs.doctags("more")
    assert runs.documents() == ["docs/note.md", "more/other.md"], "only a run of its source removes a file"
    runs.doctags("docs")
    assert runs.documents() == ["more/other.md"]


@pytest.mark.parametrize("excess", [0, 1])
def test_the_largest_document_has_exactly_the_limit(
    runs: StageRuns, monkeypatch: pytest.MonkeyPatch, excess: int
) -> None:
    monkeypatch.setattr(classify, "BYTES_MAX", os.path.getsize(runs.docs / "note.md") - excess)
    assert runs.doctags().counts.failed == excess


# ---- chunks


@pytest.mark.slow
@pytest.mark.req("DOC-4")
@pytest.mark.parametrize("settings", [{"tokens_min": 20}, {"tokens_max": 120}], ids=str)
def test_every_setting_of_chunk_does_the_chunks_again(chunked: StageRuns, settings: dict[str, object]) -> None:
    chunked.chunk(**({"tokens_max": 100, "tokens_min": 10} | settings))
    assert chunked.done("chunk") == {"docs/note.md"}
    chunked.chunk(**({"tokens_max": 100, "tokens_min": 10} | settings))
    assert chunked.done("chunk") == set()


@pytest.mark.slow
@pytest.mark.req("DOC-4")
def test_another_content_of_the_tokenizer_file_does_the_chunks_again(runs: StageRuns) -> None:
    path = runs.folder / "tokenizer.json"
    tokenizer().save(str(path))
    runs.doctags()
    for wanted in ({"docs/note.md"}, set()):
        runs.chunk(tokenizer=f"hf:{path}")
        assert runs.done("chunk") == wanted
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    runs.chunk(tokenizer=f"hf:{path}")
    assert runs.done("chunk") == {"docs/note.md"}


def a_piece(text: str, kind: str = "text") -> Piece:
    return Piece(text=text, kind=kind, path=(), pages=(), ref="#/texts/0")


@pytest.mark.req("DOC-2")
@pytest.mark.parametrize("kind", ["text", "code", "table"])
def test_no_chunk_is_empty(kind: str) -> None:
    pieces = [a_piece(" \n \n", kind), a_piece("word", kind), a_piece("\t\n", kind)]
    assert [chunk.text for chunk in build_chunks("d", pieces, count_words, 0, 1)] == ["word"]
    assert build_chunks("d", [pieces[0], pieces[2]], count_words, 0, 1) == []


@pytest.mark.req("DOC-2")
def test_the_largest_chunk_has_exactly_the_limit() -> None:
    chunks = build_chunks("d", [a_piece("one two three"), a_piece("four five six")], count_words, 0, 3)
    assert [chunk.tokens for chunk in chunks] == [3, 3]
    [whole] = build_chunks("d", [a_piece("one two three"), a_piece("four")], count_words, 4, 4)
    assert whole.tokens == 4


def test_a_chunk_of_exactly_a_bound_is_counted_below_it(runs: StageRuns) -> None:
    runs.write("docs/note.md", "word " * HISTOGRAM[1])
    runs.doctags()
    runs.chunk(tokens_max=512)
    assert runs.rows("chunk")["docs/note.md"]["histogram"][:3] == [0, 1, 0]


@pytest.mark.parametrize(
    ("values", "share", "wanted"), [([1, 2], 0.5, 1), ([1, 2, 3], 0.5, 2), ([1] * 19 + [9], 0.95, 1), ([], 0.5, 0)]
)
def test_a_quantile_is_the_smallest_value_that_suffices(values: list[int], share: float, wanted: int) -> None:
    assert find_quantile({value: values.count(value) for value in values}, share) == wanted


# ---- vectors


@pytest.mark.slow
@pytest.mark.req("DOC-4")
def test_another_provider_does_the_vectors_again_and_leaves_none_of_the_old(chunked: StageRuns) -> None:
    data = inorder.open(chunked.data)
    chunked.embed(dense="hash")
    chunked.embed(dense="hash:64")
    assert {len(row.vector) for row in data.vectors("dense")} == {64}
    chunked.embed(dense="none")
    with pytest.raises(inorder.OperatorError, match="no dense vectors"):
        data.vectors("dense")


@pytest.mark.slow
@pytest.mark.req("DOC-3", "DOC-4")
def test_statistics_do_not_count_what_is_gone(runs: StageRuns) -> None:
    runs.write("docs/gone.md", "Foghorn.")
    runs.run()
    before = read_counts(runs)
    assert (before["embed:dense/documents"], before["files/document"]) == (2, 2)
    (runs.docs / "gone.md").unlink()
    runs.run()
    after = read_counts(runs)
    assert (after["embed:dense/documents"], after["files/document"]) == (1, 1)
    assert after["embed:dense/vectors"] == before["embed:dense/vectors"] - 1


def read_counts(runs: StageRuns) -> dict[str, int]:
    with closing(LibraryReader(str(runs.data))) as library:
        return library.read_totals().counts


# ---- files in DATA


@pytest.mark.slow
@pytest.mark.req("DAT-1")
def test_the_number_of_files_does_not_grow_with_the_documents(runs: StageRuns) -> None:
    runs.run(telemetry=False)
    before = {path.relative_to(runs.data) for path in runs.data.rglob("*") if path.is_file()}
    for number in range(50):
        runs.write(f"docs/more/{number}.txt", f"{number} {PROSE}")
    runs.run(telemetry=False)
    after = {path.relative_to(runs.data) for path in runs.data.rglob("*") if path.is_file()}
    assert len(after) <= 14
    assert len(after) - len(before) <= 2, "files with vectors"


# ---- what files become


@pytest.mark.slow
@pytest.mark.req("DOC-4")
def test_a_document_that_is_none_any_more_leaves_nothing_behind(runs: StageRuns) -> None:
    runs.write("docs/other.md", "# Other\n")
    runs.run()
    (runs.docs / "note.md").write_bytes(b"\x00\x01" * 400)
    runs.write("docs/.inorderignore", "other.md\n")
    outcome = runs.run()
    assert (outcome.counts.failed, outcome.counts.removed) == (1, 1)
    assert runs.documents() == []
    assert read_counts(runs) == {}
