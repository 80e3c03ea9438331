"""One run: what is new, changed, gone or unchanged, and which steps run."""

import os
from pathlib import Path

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert import settings as convert_settings
from inorder.pipeline.outcome import FileCounts, format_outcome
from inorder.pipeline.state import read_state
from tests.documents.pdf_files import draw_lines, draw_pdf

from .runs import Library, count_steps, write

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"
ALL_STEPS = {"doctags", "chunk", "index", "embed:dense"}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    write(root, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar")})
    write(root, **{"tool.py": "def light(lamp):\n    return lamp\n", "photo.png": b"\x89PNG\r\n\x1a\n0000"})
    return root


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


def rebuild(tmp_path: Path, *sources: Path) -> str:
    fresh = Library(tmp_path / "fresh")
    fresh.run(*sources)
    return fresh.read_content_hash()


@pytest.mark.req("PIP-1", "PIP-5")
def test_a_first_run_counts_files_and_makes_them_searchable(docs: Path, library: Library) -> None:
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=4, not_read=1)
    assert outcome.not_read == {"an image: --ocr reads its text": {".png": 1}}
    assert (outcome.documents, outcome.source_files) == (3, 1)
    assert library.list_searchable() == ["docs/ash.md", "docs/birch.md", "docs/cedar.md", "docs/tool.py"]
    assert count_steps(outcome) == {"doctags": 3, "chunk": 3, "index": 4, "embed:dense": 3}


@pytest.mark.req("PIP-3", "RUN-4")
def test_a_rerun_computes_nothing_and_counts_the_same_files(docs: Path, library: Library) -> None:
    library.run(docs)
    before = library.read_content_hash()
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(unchanged=4, not_read=1)
    assert outcome.steps == {}
    assert library.read_content_hash() == before


def test_a_run_that_finds_nothing_to_do_is_recorded_and_leaves_the_rest_of_data_as_it_is(
    docs: Path, library: Library
) -> None:
    (docs / "photo.png").unlink()  # it is looked at again as long as its time is new: nothing has hashed it
    library.run(docs, telemetry=True)
    kept = ("journal", "manifests", "telemetry", ".staging")

    def list_kept() -> dict[str, bytes]:
        paths = [path for name in kept for path in sorted((library.data / name).rglob("*"))]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in paths}

    before = list_kept()
    outcome = library.run(docs, telemetry=True)
    assert list_kept() == before
    latest = read_state(str(library.data)).latest
    assert latest is not None
    assert (latest.run_id, latest.counts) == (outcome.run_id, outcome.counts)


def test_a_run_that_finds_nothing_to_do_writes_the_metrics_that_it_is_asked_for(
    docs: Path, library: Library, tmp_path: Path
) -> None:
    library.run(docs)
    library.run(docs, telemetry=True, metrics_file=tmp_path / "metrics.prom")
    assert "inorder_plan_items{" in (tmp_path / "metrics.prom").read_text()


@pytest.mark.slow
@pytest.mark.req("PIP-3", "IDX-3")
def test_an_update_equals_a_build_from_scratch(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    (docs / "ash.md").unlink()
    write(docs, **{"birch.md": NOTE.format("birch, again"), "elm.md": NOTE.format("elm")})
    outcome = library.run(docs)
    assert outcome.counts == FileCounts(new=1, changed=1, unchanged=2, not_read=1, removed=1)
    assert count_steps(outcome) == dict.fromkeys(ALL_STEPS, 2)
    assert library.read_content_hash() == rebuild(tmp_path, docs)


@pytest.mark.req("PIP-3", "RUN-17")
def test_a_file_with_a_new_time_and_the_same_bytes_is_unchanged(docs: Path, library: Library) -> None:
    library.run(docs)
    os.utime(docs / "ash.md", ns=(1_000_000_000, 1_000_000_000))
    assert library.run(docs).counts == FileCounts(unchanged=4, not_read=1)


@pytest.mark.req("PIP-3", "RUN-17")
def test_a_change_of_the_same_size_within_the_clock_is_noticed(docs: Path, library: Library) -> None:
    library.run(docs)
    path = docs / "ash.md"
    info = path.stat()
    path.write_text(NOTE.format("oak"))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert library.run(docs).counts.changed == 1


@pytest.mark.slow
@pytest.mark.req("PIP-2", "DOC-4")
def test_another_chunk_size_runs_the_chunker_and_what_follows(docs: Path, library: Library, tmp_path: Path) -> None:
    library.run(docs)
    other = Library(library.data, chunk=ChunkSettings(tokens_max=8))
    outcome = other.run(docs)
    assert count_steps(outcome) == {"chunk": 3, "index": 3, "embed:dense": 3}
    fresh = Library(tmp_path / "fresh", chunk=ChunkSettings(tokens_max=8))
    fresh.run(docs)
    assert other.read_content_hash() == fresh.read_content_hash()


@pytest.mark.req("PIP-2", "RUN-4", "DOC-4")
def test_equal_output_of_a_new_reader_leaves_later_steps_alone(
    docs: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.run(docs)
    monkeypatch.setattr(convert_settings, "VERSION", "other")
    assert count_steps(library.run(docs)) == {"doctags": 3}
    assert library.run(docs).steps == {}


@pytest.mark.req("PIP-2", "RUN-4")
def test_force_runs_every_step_again_and_changes_nothing(docs: Path, library: Library) -> None:
    library.run(docs)
    before = library.read_content_hash()
    assert count_steps(library.run(docs, force=True)) == {"doctags": 3, "chunk": 3, "index": 4, "embed:dense": 3}
    assert library.read_content_hash() == before


@pytest.mark.req("PIP-6", "CAN-3")
def test_a_broken_file_fails_once_and_is_not_tried_again(docs: Path, library: Library) -> None:
    write(docs, **{"broken.pdf": b"%PDF-1.4\nnot really"})
    assert library.run(docs).counts.failed == 1
    assert library.list_failures() == [("docs/broken.pdf", "doctags", "input")]
    outcome = library.run(docs)
    assert outcome.counts.failed == 1
    assert outcome.steps == {}


@pytest.mark.req("PIP-6", "CLI-4")
def test_a_failed_file_is_tried_again_if_it_is_asked_for_or_changes(docs: Path, library: Library) -> None:
    write(docs, **{"broken.pdf": b"%PDF-1.4\nnot really"})
    library.run(docs)
    assert library.run(docs, retries=True).steps["doctags"].failed == 1
    write(docs, **{"broken.pdf": b"%PDF-1.4\nnor this"})
    assert library.run(docs).steps["doctags"].failed == 1
    (docs / "broken.pdf").unlink()
    assert library.run(docs).counts.removed == 1
    assert library.list_failures() == []


@pytest.mark.req("PIP-4")
def test_two_folders_of_one_name_are_two_sources_and_keep_their_files(tmp_path: Path, library: Library) -> None:
    for place in ("a", "b"):
        write(tmp_path / place / "docs", **{f"{place}.md": NOTE.format(place)})
    library.run(tmp_path / "a/docs")
    outcome = library.run(tmp_path / "b/docs")
    assert outcome.counts == FileCounts(new=1)
    assert library.list_searchable() == ["docs/a.md", "docs~2/b.md"]


@pytest.mark.req("PIP-4")
def test_a_source_that_moved_is_recognised_and_computes_nothing(tmp_path: Path, docs: Path, library: Library) -> None:
    library.run(docs)
    moved = tmp_path / "elsewhere/docs"
    moved.parent.mkdir()
    docs.rename(moved)
    outcome = library.run(moved)
    assert outcome.counts == FileCounts(unchanged=4, not_read=1)
    assert outcome.steps == {}
    assert "has moved" in outcome.notes[0]


@pytest.mark.req("PIP-4")
def test_a_folder_inside_a_source_updates_that_part_alone(docs: Path, library: Library) -> None:
    write(docs, **{"inner/oak.md": NOTE.format("oak"), "inner/elm.md": NOTE.format("elm")})
    library.run(docs)
    (docs / "inner/oak.md").unlink()
    (docs / "ash.md").unlink()
    assert library.run(docs / "inner").counts == FileCounts(unchanged=1, removed=1)
    assert "docs/ash.md" in library.list_searchable()


def test_a_file_that_becomes_source_code_loses_what_it_had_as_a_document(docs: Path, library: Library) -> None:
    write(docs, **{"notes.xyz": "<html><body><p>The keeper lights the lamp.</p></body></html>"})
    library.run(docs)
    write(docs, **{"notes.xyz": "#!/usr/bin/env python3\nprint('lamp')\n"})
    outcome = library.run(docs)
    assert outcome.counts.changed == 1
    assert (outcome.documents, outcome.source_files) == (3, 2)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 7])
def test_any_number_of_workers_gives_the_same_library(docs: Path, tmp_path: Path, workers: int) -> None:
    write(docs, **{f"{number}.md": NOTE.format(number) for number in range(40)})
    wanted = Library(tmp_path / "two")
    assert wanted.run(docs).counts == FileCounts(new=44, not_read=1)
    library = Library(tmp_path / "other")
    assert library.run(docs, workers=workers).counts == FileCounts(new=44, not_read=1)
    assert library.read_content_hash() == wanted.read_content_hash()


@pytest.mark.req("PIP-5")
def test_every_run_says_which_pages_have_no_text(tmp_path: Path) -> None:
    page, blank = draw_lines("The lamp is lit."), lambda canvas: canvas.rect(50, 50, 200, 200, fill=1)
    write(tmp_path / "docs", **{"scans.pdf": draw_pdf(page, blank, blank), "read.pdf": draw_pdf(page)})
    library = Library(tmp_path / "data")
    rechunked = Library(tmp_path / "data", chunk=ChunkSettings(tokens_max=300))
    for each in (library, library, rechunked):
        outcome = each.run(tmp_path / "docs")
        assert (outcome.pages_without_text, outcome.files_without_text) == (2, 1)
    write(tmp_path / "docs", **{"scans.pdf": draw_pdf(page)})
    assert library.run(tmp_path / "docs").pages_without_text == 0
    assert library.run(tmp_path / "docs").pages_without_text == 0


@pytest.mark.req("PIP-5")
def test_a_document_without_any_text_is_not_counted_as_searchable(docs: Path, library: Library) -> None:
    write(docs, **{"scan.pdf": draw_pdf(lambda canvas: None)})
    outcome = library.run(docs)
    assert (outcome.counts.new, outcome.documents, outcome.files_without_text) == (5, 3, 1)
    assert read_state(str(library.data)).documents == 3


@pytest.mark.req("PIP-5")
def test_the_summary_accounts_for_every_failed_file(tmp_path: Path, library: Library) -> None:
    names = ("a.docx", "b.xlsx", "c.pptx", "d.odt", "e.epub")
    write(tmp_path / "docs", **{name: b"PK\x03\x04 torn" + name.encode() for name in names}, **{"f.md": NOTE})
    outcome = library.run(tmp_path / "docs")
    lines = format_outcome(outcome)
    shown = [line for line in lines if line.startswith("failed: ") and "more, for other" not in line]
    counted = sum(1 + (int(line.rpartition("[and ")[2].split()[0]) if "[and " in line else 0) for line in shown)
    rest = next((int(line.split()[1]) for line in lines if "more, for other" in line), 0)
    assert rest > 0
    assert counted + rest == outcome.failed == len(names)


def test_a_first_run_names_the_next_command_also_if_a_scan_cannot_be_found(docs: Path, library: Library) -> None:
    write(docs, **{"scan.pdf": draw_pdf(lambda canvas: None)})
    assert format_outcome(library.run(docs))[-1] == 'next: inorder search "WORDS"'
    assert format_outcome(library.run(docs))[-1] != 'next: inorder search "WORDS"'
