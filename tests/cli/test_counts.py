"""Every surface counts the same files, with the same words: terminal, JSON, plan, inspect, watch, report, metrics."""

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inorder.documents import old_office as conversions
from inorder.pipeline.outcome import FileCounts, describe_counts
from inorder.pipeline.remedies import describe_ocr
from inorder.serve.api.endpoint import DataParams
from inorder.serve.api.files import ListParams, answer_file_facets, answer_files
from inorder.serve.api.metrics import answer_metrics
from inorder.serve.catalog import Catalog
from inorder.serve.request_metrics import RequestMetrics
from tests.documents.archives.archive_files import make_archive
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.pipeline.runs import write
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("PIP-5"), pytest.mark.slow, pytest.mark.process]

PNG = b"\x89PNG\r\n\x1a\n0000"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
FILES = {
    "ash.md": "# Ash\n\nA lamp under the ash.\n",
    "birch.txt": "A lamp under the birch.\n",
    "again.md": "# Ash\n\nA lamp under the ash.\n",
    "tool.py": "def light():\n    return 1\n",
    "torn.pdf": b"%PDF-1.4\nbroken",
    "sealed.pdf": draw_pdf(draw_lines("a sealed letter"), encrypt="sesame"),
    "scan.pdf": draw_pdf(draw_lines("The first page has words."), lambda canvas: None),
    "photo.png": PNG,
    "old.vsd": OLE + bytes(600),
    "song.mp3": b"ID3\x04\0\0\0" + bytes(600),
    "empty.txt": "",
    "box.zip": make_archive("zip", {"in.md": b"# In\n\nA boxed lamp.\n", "in.png": PNG, "in.md.copy.md": b"# Other\n"}),
    ".hidden.md": "# Not counted\n",
    ".inorderignore": "ignored.md\n",
    "ignored.md": "# Not counted either\n",
    ".gitignore": "build/\n",
    "build/out.js": "export const lamp = 1\n",
    "build/out.bin": bytes(600),
}
COUNTS = FileCounts(new=6, copies=2, failed=2, not_read=8)
LINE = "18 files: 6 new, 2 copies, 2 failed, 8 not read"
NOT_READ = {
    "an image: --ocr reads its text": {".png": 2},
    "not a text file": {".mp3": 1, ".vsd": 1},
    "the file is empty": {".txt": 1},
    "a symbolic link to a file outside of the source folder": {".md": 1},
    "a symbolic link to a folder": {"all": 1},
    "not a regular file": {"pipe": 1},
}
SAID = [
    f"2 images, 1 page without readable text in 1 file ({describe_ocr()})",
    "1 .mp3, 1 .vsd (no reader for this type)",
    "2 links, 1 empty file, 1 special file",
]
QUICK = ("--policy", "io", "--workers", "1", "--set", "fsync=off")


@pytest.fixture
def mixed(cli: CommandLine) -> CommandLine:
    """A folder with a file of every sort."""
    docs = cli.folder / "docs"
    write(docs, **FILES)
    (docs / "inside.txt").symlink_to("birch.txt")
    (docs / "outside.md").symlink_to(cli.folder / "jobs.py")
    (docs / "all").symlink_to(".")
    os.mkfifo(docs / "pipe")
    return cli


def run(cli: CommandLine, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = cli.run_in_process("run", "docs", *QUICK, *arguments, "--json")
    return ended.code, ended.json


def read_counts(found: dict[str, Any]) -> FileCounts:
    return FileCounts(**found["counts"])


def without_time(line: str) -> str:
    return line.partition("   in ")[0]


def read_metrics(text: str) -> FileCounts:
    found = re.findall(r'^inorder_run_files\{data="\w+",class="(\w+)"\} (\d+)$', text, re.MULTILINE)
    return FileCounts(**{name: int(count) for name, count in found})


def test_what_is_said_after_a_run_is_said_everywhere(mixed: CommandLine) -> None:
    planned = mixed.run("plan", "docs", "--json").json
    assert planned["counts"]["new"] == COUNTS.new + COUNTS.failed, "that files are damaged is not known before"
    assert planned["not_read"] == NOT_READ

    code, outcome = run(mixed)
    assert (code, read_counts(outcome), outcome["not_read"]) == (3, COUNTS, NOT_READ)
    assert describe_counts(COUNTS) == LINE
    assert (outcome["documents"], outcome["source_files"]) == (5, 1)
    assert outcome["documents"] + outcome["source_files"] <= COUNTS.files
    assert (outcome["pages_without_text"], outcome["files_without_text"]) == (1, 1)

    inspected = mixed.run("inspect", "--json").json["library"]
    state = {name: inspected[name] for name in ("files", "read", "copies", "failed", "not_read")}
    assert state == {"files": 18, "read": 6, "copies": 2, "failed": 2, "not_read": 8}
    assert (inspected["not_read_types"], inspected["lines"]["not read"]) == (NOT_READ, SAID)
    assert (inspected["latest"]["line"], inspected["documents"], inspected["source_files"]) == (LINE, 5, 1)
    assert mixed.run("failures", "--json").json["count"] == COUNTS.failed

    catalog = Catalog([str(mixed.data)])
    assert read_metrics(bytes(answer_metrics(catalog, RequestMetrics()).body).decode()) == COUNTS
    [name] = catalog.names
    listed = answer_files(catalog, ListParams(data=name)).files
    assert Counter(each.status for each in listed) == {"read": 6, "copy": 2, "failed": 2, "not read": 8}
    facets = answer_file_facets(catalog, DataParams(data=name))
    assert {each: getattr(facets, each) for each in state} == state

    report = mixed.run("report", "--json").json
    [reported] = [each["files"] for each in report["runs"] if each["files"]]
    assert (read_counts(reported), reported["not_read"]) == (COUNTS, NOT_READ)
    assert (reported["documents"], reported["source_files"], reported["pages_without_text"]) == (5, 1, 1)
    assert FileCounts(**report["dataset"]["library"]["history"][0]["counts"]) == COUNTS
    assert report["dataset"]["library"]["line"] == "18 files: 6 read, 2 copies, 2 failed, 8 not read"


def test_a_second_run_says_the_same_on_the_terminal_and_in_json(mixed: CommandLine) -> None:
    first = mixed.run_in_process("run", "docs", *QUICK)
    lines = [line for line in first.err.splitlines() if not line.startswith("[")]
    assert (first.code, without_time(lines[0])) == (3, LINE)
    assert lines[1] == "searchable: 5 documents, 1 source file"
    assert lines[2 : 2 + len(SAID)] == [f"not read: {SAID[0]}", *(f"          {line}" for line in SAID[1:])]
    assert "2 failed: inorder failures" in lines
    later = FileCounts(unchanged=6, copies=2, failed=2, not_read=8)
    code, outcome = run(mixed)
    assert (code, read_counts(outcome), outcome["not_read"], outcome["steps"]) == (3, later, NOT_READ, {})
    planned = mixed.run("plan", "docs").out.splitlines()
    assert planned[-1 - len(SAID)] == describe_counts(later)
    assert planned[-len(SAID) :] == lines[2 : 2 + len(SAID)]
    (mixed.folder / "docs" / "again.md").unlink()
    code, outcome = run(mixed)
    gone = FileCounts(unchanged=5, changed=1, copies=1, failed=2, not_read=8, removed=1)
    assert read_counts(outcome) == gone, "the copy became the document"
    assert outcome["documents"] == 5


def test_a_watch_counts_the_same_in_its_first_run_and_what_changed_in_the_next(mixed: CommandLine) -> None:
    program = mixed.start("watch", "docs", "--json", "--settle", "0.05", *QUICK)
    assert program.stdout is not None

    def read_next() -> dict[str, Any]:
        for line in program.stdout or ():
            event = json.loads(line)
            if event["event"] == "run_ended":
                return dict(event)
        pytest.fail("the watch ended")

    first = read_next()
    assert (read_counts(first["outcome"]), first["exit_code"]) == (COUNTS, 3)
    assert without_time(first["message"]) == f"run 1: {LINE}"
    write(mixed.folder / "docs", **{"new.md": "# New\n\nA new lamp.\n"})
    found = Counter[str]()
    while not found["new"]:
        found.update(read_next()["outcome"]["counts"])
    assert found["new"] == 1
    program.send_signal(signal.SIGTERM)
    assert mixed.end_of(program).code == 143
    assert mixed.run("inspect", "--json").json["library"]["files"] == COUNTS.files + 1


def test_source_code_that_git_ignores_is_removed_and_new_when_it_is_not_ignored_any_more(cli: CommandLine) -> None:
    docs = cli.folder / "docs"
    write(docs, **{"a.md": "# A\n", "b.py": "b = 1\n"})
    assert read_counts(run(cli)[1]) == FileCounts(new=2)
    write(docs, **{".gitignore": "*.py\n"})
    planned = cli.run("plan", "docs").out.splitlines()
    assert planned[0].split()[:2] == ["removed", "docs/b.py"]
    for counts in (FileCounts(unchanged=1, removed=1), FileCounts(unchanged=1)):
        assert FileCounts(**cli.run("plan", "docs", "--json").json["counts"]) == counts
        code, outcome = run(cli)
        assert (code, read_counts(outcome), outcome["not_read"], outcome["source_files"]) == (0, counts, {}, 0)
    assert cli.run("inspect", "--json").json["library"]["files"] == 1
    (docs / ".gitignore").unlink()
    assert read_counts(run(cli)[1]) == FileCounts(new=1, unchanged=1)
    write(docs, **{".gitignore": "*.py\n"})
    run(cli)
    (docs / "b.py").unlink()
    assert read_counts(run(cli)[1]) == FileCounts(unchanged=1)


def test_links_and_pipes_alone_do_not_fail_a_run(cli: CommandLine) -> None:
    docs: Path = cli.folder / "docs"
    write(docs, **{"a.md": "# A\n", "photo.png": PNG, "old.vsd": OLE + bytes(600)})
    (docs / "gone.md").symlink_to("nowhere.md")
    os.mkfifo(docs / "pipe.md")
    assert run(cli)[0] == 0
    assert cli.run("failures").err == "no failed files\n"
    code, outcome = run(cli)
    assert (code, outcome["steps"], read_counts(outcome)) == (0, {}, FileCounts(unchanged=1, not_read=4))


def test_a_plan_says_which_extra_old_files_need(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "is_installed", lambda: False)
    write(cli.folder / "docs", **{"a.md": "# A\n", "old.doc": OLE + bytes(600), "old.xls": OLE + bytes(600)})
    planned = cli.run("plan", "docs")
    assert "1 .doc, 1 .xls (add the extra old-office)" in planned.out + planned.err
