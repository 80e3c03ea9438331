"""What reads DATA: commands, pages, targets and `inorder.open`, on a library that a run has made."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

import inorder
from inorder.library import sink as library_sink
from inorder.library.sink import LibrarySink
from inorder.library.snapshots import GenerationReader
from inorder.runtime.limits import Windows
from inorder.targets.index_reader import IndexReader
from tests.documents.workspace import PROSE
from tests.library.libraries import write
from tests.library.making import make_document
from tests.pipeline.folders import FolderRuns
from tests.pipeline.runs import Library
from tests.serve.conftest import make_client
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-2")
SAMPLE = Path(__file__).parents[2] / "examples/sample"
QUESTIONS = ("fog signal", "lamp", "sym:main", "imports:os", "storm", "visitors")
CODE = "import os\n\n\ndef ring(times):\n    return [os.getpid() for _ in range(times)]\n\n\ndef main():\n    ring(2)\n"


class Site(NamedTuple):
    """Sources, and the library of a run over them."""

    folder: Path
    library: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return run_in_process([*arguments, "--data", str(self.library)], self.folder, {})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    runs = FolderRuns(folder, tokens_max=200, dense="hash:16")
    for path in sorted(SAMPLE.rglob("*")):
        if path.is_file():
            copy = runs.docs / path.relative_to(SAMPLE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    runs.write("docs/a name with spaces/ring.py", CODE)
    runs.write("docs/first.md", f"# Rota\n\n{PROSE}")
    runs.write("docs/second.md", f"# Rota\n\n{PROSE}")
    runs.run()
    return Site(folder, runs.data)


@pytest.mark.slow
def test_questions_are_answered(site: Site) -> None:
    for question in QUESTIONS:
        with inorder.open(site.library) as opened:
            answer = opened.search(question)
        assert answer.hits or answer.places, question


@pytest.mark.slow
def test_an_answer_says_of_when_it_is(site: Site) -> None:
    code, out, _ = site.run("search", "storm", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["generation"] >= 1
    assert answer["published_at"].startswith("20")


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        (("show", "fog-signals.html"), 0, "How the fog signals work"),
        (("show", "docs/second.md", "--json"), 0, "docs/first.md"),
        (("show", "notes/storm-of-1987.txt", "--as", "chunks"), 0, "[0]  "),
        (("show", "no-such-document"), 2, "no document 'no-such-document' in"),
        (("symbols", "ring.py"), 0, "ring"),
        (("graph", "ring"), 0, "main"),
        (("inspect", "--duplicates"), 0, "duplicates"),
    ],
)
def test_commands_read_the_library(site: Site, command: tuple[str, ...], code: int, shown: str) -> None:
    found, out, err = site.run(*command)
    assert found == code
    assert shown in out + err


def test_a_document_is_found_by_the_path_of_its_file(site: Site) -> None:
    with inorder.open(site.library) as opened:
        assert opened.find(str(site.folder / "docs/first.md")).paths == ["docs/first.md", "docs/second.md"]
        assert opened.find(str(site.folder / "docs/second.md")).doc_id == "docs/first.md"


def test_the_path_of_a_hit_leads_to_its_file_whatever_the_source_is_called(tmp_path: Path) -> None:
    docs = tmp_path / "50% off"
    docs.mkdir()
    (docs / "a.md").write_text("A lamp.")
    Library(tmp_path / "data", dense="none").run(docs)
    with inorder.open(tmp_path / "data") as opened:
        [hit] = opened.search("lamp").hits
        assert hit.path == str(docs / "a.md")
        assert opened.find(str(docs / "a.md")).doc_id == hit.item_id


def test_targets_get_all_chunks_and_vectors(site: Site) -> None:
    reader = IndexReader(str(site.library))
    try:
        assert reader.layout.dimensions == 16
        ids = [each.doc_id for each in reader.list_documents("", 1000)]
        assert "docs/first.md" in ids
        assert "docs/second.md" not in ids
        chunks = [chunk for doc_id in ids if (document := reader.read(doc_id)) for chunk in document.chunks]
    finally:
        reader.close()
    with inorder.open(site.library) as opened:
        vectors = {row.chunk_id: row.vector.tobytes() for row in opened.vectors("dense")}
    assert {chunk.chunk_id: chunk.vector for chunk in chunks if chunk.vector} == vectors


@pytest.mark.process
def test_pages_list_documents_and_show_their_steps(site: Site) -> None:
    client = make_client(site.library)
    [data] = client.get("/api/data").json()["data"]
    assert data["has_index"]
    listed = client.get("/api/files?k=500").json()
    statuses = {each["id"]: each["status"] for each in listed["files"]}
    assert listed["total"] == len(statuses)
    assert statuses["docs/first.md"] == "read"
    assert statuses["docs/second.md"] == "copy"
    assert statuses["docs/archive/torn-report.pdf"] == "failed"
    assert client.get("/api/files?status=failed&text=torn").json()["total"] == 1
    steps = {step["step"]: step for step in client.get("/api/document?id=docs/first.md").json()["state"]["steps"]}
    assert {name: step["result"] for name, step in steps.items()} == dict.fromkeys(
        ("doctags", "chunk", "index", "embed:dense"), "made"
    )
    assert steps["chunk"]["facts"]["chunks"] >= 1
    failed = client.get("/api/document?id=docs/archive/torn-report.pdf").json()["state"]
    assert (failed["status"], failed["reason"]) == ("failed", "the PDF is damaged or truncated")
    assert [step["result"] for step in failed["steps"]] == ["failed", "not reached", "not reached"]
    found = client.get("/api/search?q=storm").json()
    assert found["hits"]
    assert found["generation"] >= 1
    assert client.get("/api/original?id=docs/first.md").json()["text"].startswith("# Rota")
    source = client.get("/api/source", params={"id": "docs/a name with spaces/ring.py"}).json()
    assert source["note"] == ""
    assert [symbol["name"] for symbol in source["symbols"]] == ["ring", "main"]


class Reading(NamedTuple):
    """What was seen during a run, after a publication."""

    generation: int
    documents: list[str]
    chunked: list[str]
    found: list[str]
    exported: list[str]


def read_all(data: Path, to: Path) -> Reading:
    with inorder.open(data) as opened:
        answer = opened.search("number", k=1000, mode="lexical")
        opened.export(to, "chunks")
        return Reading(
            answer.generation.number,
            [each.doc_id for each in opened.documents()],
            [each.doc_id for each in opened.chunks()],
            sorted(hit.item_id for hit in answer.hits),
            pq.read_table(to / "chunks")["doc_id"].to_pylist(),
        )


@pytest.mark.slow
@pytest.mark.req("PIP-7")
def test_a_reader_sees_one_generation_while_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"{number:02}.md").write_text(f"# Number\n\nThe number {number} has a document of its own.\n")
    seen: list[Reading] = []
    begun: list[GenerationReader] = []
    publish = LibrarySink.publish

    def read_after(sink: LibrarySink, **options: Any) -> bool:
        is_changed = publish(sink, **options)
        if is_changed:
            seen.append(read_all(tmp_path / "data", tmp_path / f"export-{len(seen)}"))
            if not begun:
                begun.append(GenerationReader(str(tmp_path / "data")))
        return is_changed

    monkeypatch.setattr(LibrarySink, "publish", read_after)
    monkeypatch.setattr(library_sink, "_PUBLISH_S", 0.0)
    monkeypatch.setattr(library_sink, "_PUBLISH_FACTOR", 0)
    Library(tmp_path / "data", dense="hash:16").run(docs, windows=Windows(entries=8))
    assert len(seen) > 1, "there was a publication before the last one"
    for reading in seen:
        assert reading.documents == reading.chunked == reading.found == reading.exported
    sizes = [len(reading.documents) for reading in seen]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == 60
    assert [reading.generation for reading in seen] == list(range(1, len(seen) + 1))
    with closing(begun[0]) as first:
        found = [each.item_id for each in first.list_results("doctags")]
        assert found == seen[0].documents, "a reader stays in the generation in which it began"
        assert all(first.read("chunk", doc_id) for doc_id in found)
        assert first.read("chunk", seen[-1].documents[-1]) is None


def test_vectors_that_stay_the_same_belong_to_the_chunks_that_are_new(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "one text", spec="hash:4"))
    write(tmp_path, make_document("docs/a", "one text", spec="hash:4", settings="s2"))
    reader = IndexReader(str(tmp_path))
    document = reader.read("docs/a")
    reader.close()
    assert document is not None
    assert all(chunk.vector for chunk in document.chunks)


def test_a_target_notices_vectors_that_come_later(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "one text"), make_document("docs/b", "another", spec="hash:4"))
    hashes = []
    for _ in range(2):
        reader = IndexReader(str(tmp_path))
        hashes.append({each.doc_id: each.hash for each in reader.list_documents("", 10)})
        reader.close()
        write(tmp_path, make_document("docs/a", "one text", spec="hash:4"))
    assert hashes[0]["docs/a"] != hashes[1]["docs/a"]
    assert hashes[0]["docs/b"] == hashes[1]["docs/b"]


def test_sparse_vectors_are_read_with_the_ids_of_their_chunks(tmp_path: Path) -> None:
    from inorder.documents.chunk.chunks import Chunk
    from inorder.library.rows import CHUNK, SPARSE, FileIdentity, FileResult, make_step_result
    from inorder.library.values import _PACK as PACK
    from inorder.library.values import SparseVectors, pack_chunk_rows

    ids = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(2)]
    chunks = [
        Chunk(
            chunk_id=id_,
            doc_id="docs/a",
            number=at,
            text="t",
            tokens=1,
            start=0,
            end=1,
            section_path=[],
            pages=[],
            refs=[],
        )
        for at, id_ in enumerate(ids)
    ]
    content, texts = pack_chunk_rows(chunks)
    split = make_step_result(CHUNK, "s", b"d", content, texts=texts)
    stored = SparseVectors(
        "terms", 10, [2, 0], np.array([1, 5], "<i4").tobytes(), np.array([0.5, 2.0], "<f4").tobytes()
    )
    sparse = make_step_result(SPARSE, "s", split.output, PACK.encode(stored))
    write(tmp_path, FileResult(FileIdentity("docs/a", "document"), [split, sparse]))
    with inorder.open(tmp_path) as opened:
        rows = list(opened.vectors("sparse"))
    assert [(row.chunk_id, row.indices.tolist(), row.weights.tolist()) for row in rows] == [
        (ids[0], [1, 5], [0.5, 2.0]),
        (ids[1], [], []),
    ]
    other = make_step_result(CHUNK, "s2", b"d", content, texts=["u", "v"])
    write(tmp_path, FileResult(FileIdentity("docs/a", "document"), [other]))
    with inorder.open(tmp_path) as opened:
        assert list(opened.vectors("sparse")) == [], "they belong to chunks that are gone"


def test_a_library_that_is_damaged_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "library.sqlite").write_bytes(b"no database" * 1000)
    for command in (["search", "word"], ["show", "a"], ["export", "all", "--to", f"{tmp_path}-out"]):
        code, _, err = run_in_process([*command, "--data", str(tmp_path)], tmp_path, {})
        assert code != 0
        assert "library.sqlite is damaged" in err
        assert err.count("\n") == 1
