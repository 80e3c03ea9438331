"""`failures`, `retry`, `manifest` and `inspect` on a library: the state of the files that are there now."""

import json
from pathlib import Path

import msgspec
import pytest

from inorder.pipeline.outcome import describe_counts
from tests.pipeline.runs import Library, write
from tests.pipeline.test_parts import make_pdf
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("CLI-4"), pytest.mark.process]
TORN = b"%PDF-1.4 and no more"
FILES = {
    "a.md": "# Alpha\n\nThe first answer.\n",
    "b.md": "# Alpha\n\nThe first answer.\n",
    "code.py": "def answer():\n    return 42\n",
    "photo.png": b"\x89PNG\r\n\x1a\n0000",
    "torn.pdf": TORN,
}
SAMPLE = Path(__file__).parents[2] / "examples" / "sample"
QUIET = ("--policy", "io", "-q")


@pytest.fixture
def read(cli: CommandLine) -> CommandLine:
    """Five files that a run has read; one of them is failed."""
    write(cli.folder / "docs", **FILES)
    assert cli.run_in_process("run", "docs", *QUIET).code == 3
    return cli


@pytest.mark.req("PIP-6")
def test_a_failed_file_is_listed_with_step_category_reason_and_what_would_help(read: CommandLine) -> None:
    ended = read.run("failures")
    help_ = "mend or replace the file; a run reads it again when it has changed"
    assert ended.out.splitlines() == [
        "docs/torn.pdf",
        "  doctags, input: the PDF is damaged or truncated",
    ]
    assert ended.err.splitlines() == ["1 file failed; to try again: inorder retry", f"     1: {help_}"]
    [row] = read.run("failures", "--json").json["failures"]
    assert (row["step"], row["doc_id"], row["help"]) == ("doctags", "docs/torn.pdf", help_)
    assert row["error"] == {"category": "input", "message": "the PDF is damaged or truncated"}
    assert row["input_path"] == str(read.folder / "docs" / "torn.pdf")
    assert json.loads(read.run("failures", "--jsonl").out) == row
    assert "Traceback" in read.run("failures", "-v").out
    assert read.run("failures", "--stage", "chunk").out == ""
    assert read.run("failures", "--stage", "doctags", "--json").json["count"] == 1


@pytest.mark.req("PIP-6")
def test_of_an_encrypted_file_it_is_said_how_to_give_its_password(cli: CommandLine) -> None:
    write(cli.folder / "docs", **{"sealed.pdf": (SAMPLE / "archive" / "sealed-letters.pdf").read_bytes()})
    assert cli.run_in_process("run", "docs", *QUIET).code == 3
    [row] = cli.run("failures", "--json").json["failures"]
    command = f"inorder run {cli.folder}/docs --password-file FILE"
    assert row["help"] == f"write the password into a file, then: {command}"


@pytest.mark.req("PIP-6")
@pytest.mark.parametrize("how", ["gone", "fixed", "excluded"])
def test_a_file_that_is_gone_fixed_or_excluded_is_not_failed(read: CommandLine, how: str) -> None:
    path = read.folder / "docs" / "torn.pdf"
    if how == "gone":
        path.unlink()
    elif how == "fixed":
        path.write_bytes(make_pdf("lamp", 1))
    else:
        write(read.folder / "docs", **{".inorderignore": "torn.pdf\n", ".gitignore": "torn.pdf\n"})
    assert read.run_in_process("run", "docs", *QUIET).code == 0
    ended = read.run("failures")
    assert (ended.out, ended.err) == ("", "no failed files\n")


def test_a_retry_is_a_run_of_the_failed_files_with_the_settings_of_the_last_run(read: CommandLine) -> None:
    ended = read.run_in_process("retry", "--json", *QUIET)
    assert (ended.code, ended.json["stages"]) == (3, [])
    assert ended.json["run"]["counts"]["failed"] == 1
    assert sum(ended.json["run"]["counts"].values()) == 1
    (read.folder / "docs" / "torn.pdf").write_bytes(make_pdf("lamp", 1))
    assert read.run_in_process("retry", *QUIET).code == 0
    assert read.run("search", "lamp", "--json").json["hits"]
    ended = read.run_in_process("retry", "--json", *QUIET)
    assert (ended.code, ended.json) == (0, {"run": None, "stages": []})
    assert read.run_in_process("retry", *QUIET).err == "nothing to retry\n"
    assert read.run("verify").code == 0


def test_a_retry_keeps_the_settings_of_the_run(cli: CommandLine) -> None:
    write(cli.folder / "docs", **FILES)
    assert cli.run_in_process("run", "docs", "--tokens-max", "77", "--dense", "none", *QUIET).code == 3
    before = cli.run("manifest", "--state", "--json").json["rows"]
    (cli.folder / "docs" / "torn.pdf").write_bytes(make_pdf("lamp", 1))
    assert cli.run_in_process("retry", *QUIET).code == 0
    after = {(row["doc_id"], row["step"]): row for row in cli.run("manifest", "--state", "--json").json["rows"]}
    settings = {row["cfg_hash"] for row in before if row["step"] == "chunk"}
    assert {row["cfg_hash"] for (_, step), row in after.items() if step == "chunk"} == settings
    assert not any(step.startswith("embed") for _, step in after)


def test_files_and_items_of_stages_are_retried_together(read: CommandLine) -> None:
    read.sources("fail input")
    assert read.stage("count").code == 3
    assert [row["stage"] for row in read.run("failures", "--json").json["failures"]] == ["doctags", "count"]
    assert read.run("failures").err.startswith("1 file and 1 item failed; to try again: inorder retry\n")
    read.source("0.txt", "now it works")
    ended = read.run("retry", "--json", "--workers", "1")
    assert ended.code == 3
    assert (ended.json["run"]["counts"]["failed"], ended.json["stages"][0]["succeeded"]) == (1, 1)
    assert read.run("retry", "--stage", "count").code == 0


@pytest.mark.req("RUN-7")
def test_the_state_of_every_file_and_step_is_printed(read: CommandLine) -> None:
    rows = read.run("manifest", "--state", "--json").json["rows"]
    assert [(row["doc_id"], row["step"], row["status"]) for row in rows] == [
        ("docs/a.md", "doctags", "success"),
        ("docs/a.md", "chunk", "success"),
        ("docs/a.md", "index", "success"),
        ("docs/a.md", "embed:dense", "success"),
        ("docs/b.md", "", "copy"),
        ("docs/code.py", "index", "success"),
        ("docs/photo.png", "", "not read"),
        ("docs/torn.pdf", "doctags", "failure"),
    ]
    (read.folder / "docs" / "a.md").unlink()
    read.run_in_process("run", "docs", *QUIET)
    rows = read.run("manifest", "--state", "--status", "success", "--jsonl").out.splitlines()
    assert [json.loads(row)["doc_id"] for row in rows if json.loads(row)["stage"] == "doctags"] == ["docs/b.md"]
    assert read.run("manifest", "--state", "--last-run").code == 2
    words = read.run("manifest", "--stage", "doctags").out.splitlines()
    assert words[0].startswith("doctags  run ")
    assert words[3].endswith(": 5 files: 2 new, 1 copy, 1 failed, 1 not read")


@pytest.mark.req("PIP-5", "PIP-7")
def test_inspect_counts_files_as_the_run_does(cli: CommandLine) -> None:
    docs = cli.folder / "docs"
    write(docs, **FILES)
    outcome = Library(cli.data).run(docs)
    found = cli.run("inspect", "--json").json
    library = found["library"]
    counts = outcome.counts
    assert (library["files"], library["failed"], library["not_read"], library["copies"]) == (
        counts.files,
        counts.failed,
        counts.not_read,
        counts.copies,
    )
    assert (library["documents"], library["source_files"]) == (outcome.documents, outcome.source_files)
    assert library["not_read_types"] == outcome.not_read
    assert library["generation"] == outcome.generation
    assert (library["latest"]["run_id"], library["latest"]["state"]) == (outcome.run_id, "ended")
    assert library["latest"]["line"] == describe_counts(counts)
    assert [(step["step"], step["done"], step["failed"]) for step in library["steps"]] == [
        ("doctags", 1, 1),
        ("chunk", 1, 0),
        ("index", 2, 0),
        ("embed:dense", 1, 0),
    ]
    assert found["stages"] == []
    lines = cli.run("inspect").out.splitlines()
    assert "  files       5 files: 2 read, 1 copy, 1 failed, 1 not read" in lines
    assert "  searchable  1 document, 1 source file" in lines
    assert any(line.startswith("  generation  ") for line in lines)
    assert "  warning     1 file failed: see `inorder failures`" in lines
    assert not any("skip" in line for line in lines)


@pytest.mark.req("PIP-5", "VIS-1")
def test_the_report_has_one_run_with_counts_in_files_and_times_per_step(cli: CommandLine) -> None:
    docs = cli.folder / "docs"
    write(docs, **FILES)
    outcome = Library(cli.data).run(docs, telemetry=True)
    found = cli.run("report", "--json").json
    [run] = found["runs"]
    assert (run["stage"], run["run_id"], run["state"]) == ("run", outcome.run_id, "finished")
    assert run["files"]["counts"] == msgspec.to_builtins(outcome.counts)
    assert (run["files"]["documents"], run["files"]["source_files"]) == (outcome.documents, outcome.source_files)
    assert found["verdict"]["sentence"] == f"{describe_counts(outcome.counts)}."
    assert {name: (step["files"], step["failed"]) for name, step in run["files"]["steps"].items()} == {
        "doctags": (1, 1),
        "chunk": (1, 0),
        "index": (2, 0),
        "embed:dense": (1, 0),
    }
    assert all(step["duration_s"] > 0 for step in run["files"]["steps"].values())
    assert [(row["item_id"], row["step"]) for row in run["failures"]["rows"]] == [("docs/torn.pdf", "doctags")]
    assert found["dataset"]["library"]["line"] == "5 files: 2 read, 1 copy, 1 failed, 1 not read"
    Library(cli.data).run(docs, telemetry=True)
    [run] = cli.run("report", "--json").json["runs"]
    assert run["files"]["counts"]["unchanged"] == 2
    assert cli.run("report", "-o", "page.html").code == 0
    page = (cli.folder / "page.html").read_text()
    assert "5 files: 2 unchanged, 1 copy, 1 failed, 1 not read" in page
    body = page.partition("<main")[2].partition("</main>")[0]
    assert "kipped items" not in body
    assert ">Skipped<" not in body


def test_a_run_that_is_chosen_by_its_id_is_shown(cli: CommandLine, tmp_path: Path) -> None:
    docs = cli.folder / "docs"
    write(docs, **FILES)
    library = Library(cli.data)
    first = library.run(docs, telemetry=True)
    write(docs, **{"c.md": "# Gamma\n\nThe third answer.\n"})
    second = library.run(docs, telemetry=True)
    found = cli.run("report", "--json", "--run", first.run_id, "--run", second.run_id[:12]).json
    assert [run["files"]["counts"] for run in found["runs"]] == [
        msgspec.to_builtins(first.counts),
        msgspec.to_builtins(second.counts),
    ]
    assert found["comparison"]["stage"] == "run"
