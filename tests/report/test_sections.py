"""The page about a run of the pipeline: what a reader meets first, and what is folded."""

import html
import re
from pathlib import Path

import pytest

from inorder.report import build_report, render_html
from inorder.report.comparison import Delta
from inorder.report.page.compare import _describe_change
from tests.pipeline.runs import Library, write

pytestmark = pytest.mark.req("VIS-1", "PIP-5")
FILES = {
    "a.md": "# Alpha\n\nThe first answer.\n",
    "b.txt": b"Temp\xe9rature \x97 la premi\xe8re r\xe9ponse est donn\xe9e.\n",
    "code.py": "def answer():\n    return 42\n",
    "empty.txt": "",
    **{f"torn-{number}.pdf": b"%%PDF-1.4 and no more: %d" % number for number in range(1, 6)},
}
ENGINE_WORDS = ("skip", "seq", "lease", "envelope", "lag", "window")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    write(folder / "docs", **FILES)
    library = Library(folder / "data")
    library.run(folder / "docs", telemetry=True)
    return library


def render(library: Library) -> str:
    return render_html(build_report(library.data)).partition("<main")[2].partition("</main>")[0]


def read_words(page: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split()).replace(" ,", ",")


def test_the_page_begins_with_the_verdict_and_ends_with_the_engine_room(library: Library) -> None:
    page = render(library)
    ids = re.findall(r'<section (?:class="verdict[^"]*"|id="([^"]+)")', page)
    assert ids == ["", "failed", "not-read", "dataset", "engine"]
    words = read_words(page)
    assert "9 files: 3 new, 5 failed, 1 not read." in words
    assert "Searchable: 2 documents, 1 source file." in words
    assert "Failed 5 files the PDF" in words, "failures of one reason are told once"
    assert "docs/torn-1.pdf, docs/torn-2.pdf, docs/torn-3.pdf and 2 more Mend or replace the file" in words
    assert "1 empty file" in words
    assert "decoded as Windows-1252 1 docs/b.txt" in words
    assert "Documents by type 1 markdown 1 text Source files by language 1 python" in words


def test_the_engine_room_is_folded_and_its_words_are_nowhere_else(library: Library) -> None:
    before, _, engine = render(library).partition('<section id="engine"')
    assert engine.partition(">")[2].startswith("<details><summary>")
    assert "Commit lag" in engine
    assert "Slowest steps of files" in engine
    assert "<figure" not in before
    words = read_words(before).replace("Windows-1252", "").lower()
    assert [word for word in ENGINE_WORDS if re.search(rf"\b{word}", words)] == []


def test_times_are_those_of_the_step_and_counts_are_files(library: Library) -> None:
    report = build_report(library.data)
    [run] = report.runs
    assert run.files is not None
    words = read_words(render(library))
    for name, step in run.files.steps.items():
        assert re.search(rf"{name.replace(':', ', ')} {step.files} {step.failed} [\d.]+ m?s [\d.]+ m?s", words), name
    assert (run.files.steps["doctags"].files, run.files.steps["doctags"].failed) == (2, 5)


def test_nothing_is_drawn_for_a_run_that_found_nothing_to_do(tmp_path: Path) -> None:
    write(tmp_path / "docs", **FILES)
    library = Library(tmp_path / "data")
    first = library.run(tmp_path / "docs", telemetry=True)
    second = library.run(tmp_path / "docs", telemetry=True)
    report = build_report(library.data)
    assert [(run.run_id, run.state, run.is_latest) for run in report.runs] == [(second.run_id, "finished", True)]
    page = render(library)
    assert "9 files: 3 unchanged, 5 failed, 1 not read. Searchable" in read_words(page)
    assert "Nothing had changed." in read_words(page)
    assert "docs/torn-1.pdf" in page, "what failed before is still failed"
    assert 'id="engine"' not in page
    assert "<figure" not in page
    assert first.run_id[:8] in page, "the runs so far are listed"


def test_failures_that_differ_in_their_file_and_in_numbers_are_one_reason(library: Library) -> None:
    [run] = build_report(library.data).runs
    [group] = run.failures.groups
    assert (group.count, len(group.examples), run.failures.total, len(run.failures.rows)) == (5, 3, 5, 5)
    assert "a run reads it again" in group.help


@pytest.mark.parametrize(
    ("name", "unit", "before", "after", "css"),
    [
        ("wall_ms", "ms", 100.0, 160.0, "bad"),
        ("wall_ms", "ms", 100.0, 40.0, "fine"),
        ("wall_ms", "ms", 100.0, 101.0, ""),
        ("anything else", "", 100.0, 160.0, ""),
    ],
)
def test_a_change_of_a_duration_is_marked_if_it_matters(
    name: str, unit: str, before: float, after: float, css: str
) -> None:
    shown = _describe_change(Delta(name=name, unit=unit, before=before, after=after))
    assert shown == f'<span class="{css}">{after - before:+.0f} %</span>'
