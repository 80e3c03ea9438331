"""`inorder run` and the commands of its steps: options, what is printed, and exit codes."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inorder.cli.options import SHARED
from inorder.cli.pipeline import RUN_OPTIONS, STEPS, read_recorded_request, read_request
from inorder.cli.settings import SettingsReader
from inorder.engines.process.worker_process import WorkerProcess
from inorder.errors import OperatorError
from inorder.library.sink import LibrarySink
from inorder.pipeline.outcome import describe_not_read
from inorder.pipeline.remedies import describe_ocr, suggest_help
from inorder.pipeline.steps import PipelineSettings
from inorder.stage.options import StageOptions
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("CLI-1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src/docs/deep", "src/code/package"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "docs" / "a.md").write_text("# Title\n\nSome words.\n")
    (tmp_path / "src" / "docs" / "deep" / "b.txt").write_text("More words.\n")
    (tmp_path / "src" / "code" / "package" / "c.py").write_text("def f():\n    return 1\n")
    return tmp_path


def call(project: Path, *arguments: str) -> tuple[int, str, str]:
    quick = ("--policy", "io", "--workers", "1", "--set", "fsync=off")
    return run_in_process([*arguments, *quick], project, clean_environment())


def run(project: Path, *options: str) -> tuple[int, str, str]:
    return call(project, "run", "src", "--quiet", *options)


def read_outcome(project: Path, *arguments: str) -> dict[str, Any]:
    code, out, err = call(project, *arguments, "--quiet", "--json")
    assert code in (0, 3), err
    return dict(json.loads(out))


def read_settings(given: dict[str, Any], *steps: str) -> tuple[PipelineSettings, StageOptions]:
    request = read_request(SettingsReader(given), steps or STEPS)
    return request.settings, request.options


def test_every_folder_of_the_sources_is_listed_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: Counter[str] = Counter()
    scandir = os.scandir

    def count(path: Any = ".") -> Any:
        if not isinstance(path, int):
            listed[os.path.abspath(os.fsdecode(path))] += 1
        return scandir(path)

    monkeypatch.setattr(os, "scandir", count)
    assert run(project) == (0, "", "")
    source = str(project / "src")
    assert {path: count for path, count in listed.items() if path.startswith(source)} == {
        source: 1,
        f"{source}/code": 1,
        f"{source}/code/package": 1,
        f"{source}/docs": 1,
        f"{source}/docs/deep": 1,
    }


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--dense", "magic", "magic"),
        ("--set", "tokens_min=4000", "tokens_min must be at most tokens_max"),
        ("--retries", "many", "--retries must be a whole number"),
    ],
)
def test_a_wrong_setting_of_a_later_stage_is_reported_before_the_first_one_runs(
    project: Path, option: str, value: str, said: str
) -> None:
    code, out, err = run(project, option, value)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (project / ".inorder").exists()


# ---- what is printed


@pytest.mark.req("PIP-5")
def test_a_run_ends_with_what_a_person_wants_to_know(project: Path) -> None:
    (project / "src/docs/x.pdf").write_bytes(b"%PDF-1.4\nbroken")
    (project / "src/docs/photo.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    code, out, err = call(project, "run", "src")
    assert (code, out) == (3, "")
    lines = [line for line in err.splitlines() if not line.startswith("[run]")]
    assert lines[0].startswith("5 files: 3 new, 1 failed, 1 not read   in ")
    assert lines[1:] == [
        "searchable: 2 documents, 1 source file",
        f"not read: 1 image ({describe_ocr()})",
        "failed: src/docs/x.pdf (input): the PDF is damaged or truncated",
        "1 failed: inorder failures",
        'next: inorder search "WORDS"',
    ]
    assert "/4 files | 1 failed | " in err


@pytest.mark.req("CLI-3", "PIP-5")
def test_the_exit_code_is_3_while_a_file_of_these_sources_is_failed(project: Path) -> None:
    broken = project / "src/docs/x.pdf"
    broken.write_bytes(b"%PDF-1.4\nbroken")
    assert run(project)[0] == 3
    code, out, err = run(project)
    assert (code, out) == (3, "")
    assert "4 files: 3 unchanged, 1 failed" in err
    broken.unlink()
    assert run(project) == (0, "", "")


@pytest.mark.req("CLI-2", "PIP-5")
def test_json_is_one_object_with_the_counts_and_the_time_of_each_step(project: Path) -> None:
    found = read_outcome(project, "run", "src")
    assert found["counts"] == {
        "new": 3,
        "changed": 0,
        "unchanged": 0,
        "copies": 0,
        "failed": 0,
        "not_read": 0,
        "removed": 0,
    }
    assert {step: totals["files"] for step, totals in found["steps"].items()} == {
        "doctags": 2,
        "chunk": 2,
        "index": 3,
        "embed:dense": 2,
    }
    assert (found["documents"], found["source_files"]) == (2, 1)


@pytest.mark.req("CLI-3", "CAN-3", "CAN-4")
def test_too_many_failures_are_exit_code_4_and_what_was_read_is_searchable(project: Path) -> None:
    (project / "src/docs/m.pdf").write_bytes(b"%PDF-1.4\nbroken")
    code, _, err = call(project, "run", "src", "--error-budget", "0")
    assert code == 4
    assert "stopped, too many failures after " in err
    assert "next: run the same command again to resume, perhaps with a larger --error-budget" in err
    assert run_in_process(["search", "words"], project, clean_environment())[0] == 0
    assert "stopped, too many failures: " in run_in_process(["inspect"], project, clean_environment())[1]
    assert run(project)[0] == 3
    assert ", ended: " in run_in_process(["inspect"], project, clean_environment())[1]


# ---- options


@pytest.mark.req("REA-1")
def test_every_option_of_the_run_reaches_its_request(here: Path) -> None:
    changed = {
        name: option
        for name, option in SHARED.items()
        if name in RUN_OPTIONS and name not in ("data", "timeout_s", "quiet", "policy", "engine")
    }
    given: dict[str, Any] = {"workers": "3", "retries": "7", "retry_backoff_s": "9", "error_budget": "5", "force": True}
    _, options = read_settings(given)
    assert (options.workers, options.retries, options.retry_backoff_s, options.error_budget) == (3, 7, 9.0, 5)
    assert (options.force, options.on_budget) == (True, "drain")
    assert set(given) <= set(changed)


def test_a_step_has_its_own_table_for_its_settings_and_its_time_limit(here: Path) -> None:
    (here / "inorder.toml").write_text(
        "[default]\nretries = 2\n[stage.run]\nworkers = 3\n[stage.chunk]\ntokens_max = 100\ntimeout_s = 7\n"
    )
    settings, options = read_settings({})
    assert (settings.chunk.tokens_max, options.workers, options.retries) == (100, 3, 2)
    assert settings.timeouts_s["chunk"] == 7.0
    assert settings.timeouts_s["doctags"] == 300.0
    assert set(read_settings({"timeout_s": "9"})[0].timeouts_s.values()) == {9.0}


def test_a_table_of_a_step_cannot_set_what_all_steps_share(here: Path) -> None:
    (here / "inorder.toml").write_text("[stage.embed]\nworkers = 3\n")
    with pytest.raises(OperatorError, match=r"\[stage.embed\] cannot set workers, which all steps of a run share"):
        read_settings({})


@pytest.mark.req("PIP-2")
def test_a_step_alone_leaves_the_settings_of_other_steps_as_they_were(project: Path) -> None:
    assert run(project, "--dense", "hash:8") == (0, "", "")
    assert call(project, "chunk", "--tokens-max", "100", "--quiet") == (0, "", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        request = read_recorded_request(SettingsReader({}))
        replaced = read_recorded_request(SettingsReader({"dense": "hash:16"}))
    assert (request.settings.dense, request.settings.chunk.tokens_max) == ("hash:8", 100)
    assert request.sources == (str(project / "src"),)
    assert (replaced.settings.dense, replaced.settings.chunk.tokens_max) == ("hash:16", 100)


@pytest.mark.req("PIP-4")
def test_a_source_gets_the_name_that_is_asked_for_and_keeps_it(project: Path) -> None:
    assert call(project, "run", "src/docs", "--as", "manual", "-q") == (0, "", "")
    assert read_outcome(project, "run", "src/docs")["counts"]["unchanged"] == 2
    assert run_in_process(["show", "manual/a.md"], project, clean_environment())[0] == 0
    for arguments, said in (
        (("src/docs", "--as", "other"), "is the source 'manual' already, and a source keeps its name"),
        (("src/docs/deep", "--as", "other"), "is a part of the source 'manual'; omit --as"),
        (("src/code", "--as", "manual"), "the name 'manual' belongs to the source at"),
        (("src/code", "src/docs", "--as", "x"), "--as names one source; give exactly one SRC with it"),
        (("src/code", "--as", "a/b"), "a source cannot have the name 'a/b'"),
    ):
        code, _, err = call(project, "run", *arguments, "-q")
        assert (code, err.count("\n")) == (2, 1)
        assert said in err


# ---- DATA


@pytest.mark.parametrize("command", [["run", "src"], ["doctags", "src"], ["chunk"], ["embed"], ["index"]])
@pytest.mark.parametrize("name", ["store/doctags.sqlite", "index.sqlite"])
@pytest.mark.req("CLI-3")
def test_data_of_an_earlier_version_is_refused_in_one_line(project: Path, command: list[str], name: str) -> None:
    path = project / ".inorder" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    code, out, err = call(project, *command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "was written by an earlier version of inorder; remove DATA and run again, or use that version" in err
    assert [each.name for each in (project / ".inorder").rglob("*") if each.is_file()] == [path.name]


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize("command", [["run", "src"], ["doctags", "src"], ["chunk"]])
def test_a_damaged_library_is_one_clear_line(project: Path, command: list[str]) -> None:
    assert run(project) == (0, "", "")
    (project / ".inorder/library.sqlite").write_bytes(b"no database, but long enough to be taken for one" * 100)
    code, out, err = call(project, *command, "-q")
    assert (code, out, err.count("\n")) == (6, "", 1), err
    assert "library.sqlite" in err


@pytest.mark.req("CLI-3")
def test_data_that_cannot_be_used_is_one_clear_line(project: Path) -> None:
    (project / "data").write_text("a file")
    code, out, err = run(project, "--data", "data")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "DATA cannot be used: data is not a directory; choose another directory with --data" in err


@pytest.mark.req("CLI-3")
def test_a_second_run_is_turned_away_and_told_who_has_the_library(project: Path) -> None:
    assert run(project) == (0, "", "")
    sink = LibrarySink(str(project / ".inorder"))
    try:
        code, out, err = run(project)
    finally:
        sink.close()
    assert (code, out, err.count("\n")) == (5, "", 1)
    assert f"in use by process {os.getpid()}" in err


@pytest.mark.process
@pytest.mark.req("PIP-3")
def test_no_process_is_started_if_nothing_has_changed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["run", "src", "-q", "--workers", "1"]
    assert run_in_process(command, project, clean_environment()) == (0, "", "")

    def refuse(*arguments: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(WorkerProcess, "__init__", refuse)
    assert run_in_process(command, project, clean_environment()) == (0, "", "")


@pytest.mark.req("DOC-1")
def test_files_that_mention_the_mark_of_a_pdf_are_read_as_what_they_are(project: Path) -> None:
    texts = {"a.py": 'PDF = b"%PDF-1.7"\n', "b.html": "<p>%PDF-1.4</p>", "c.csv": "magic\n%PDF-1.4\n"}
    texts |= {"d.eml": "From: a@b.c\n\n%PDF-1.4\n", "e.json": '{"magic": "%PDF-1.4"}', "f.txt": "%PDF-1.4 begins it.\n"}
    for name, text in texts.items():
        (project / "src" / name).write_text(text)
    code, _, err = call(project, "run", "src")
    assert code == 0, err
    assert "9 files: 9 new" in err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("src/torn.pdf", "the file has failed: the PDF is damaged or truncated"),
        ("src/photo.png", "the file is not read: an image: --ocr reads its text"),
        ("src/code/package/c.py", "it is source code; `inorder search` shows its parts"),
    ],
)
def test_what_is_no_document_is_not_shown_and_the_reason_is_said(project: Path, name: str, why: str) -> None:
    (project / "src" / "torn.pdf").write_bytes(b"%PDF-1.4\nbroken")
    (project / "src" / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    run(project)
    code, out, err = run_in_process(["show", name], project, clean_environment())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"no document {name!r} in" in err
    assert why in err


def test_a_quiet_run_with_failures_says_its_counts_and_not_as_an_error(project: Path) -> None:
    (project / "src" / "torn.pdf").write_bytes(b"%PDF-1.4\nbroken")
    code, out, err = call(project, "run", "src", "-q")
    assert (code, out) == (3, "")
    assert err.startswith("4 files: 3 new, 1 failed   in ")


def test_hints_name_the_data_directory_that_was_given() -> None:
    shown = suggest_help("timeout", "it took too long", data_option=" --data D")
    assert shown.endswith("run `inorder retry --data D`")
    assert "`inorder failures -v --data D`" in suggest_help("other", "it broke", data_option=" --data D")
    not_read = {f"reason {number}": {".x": 1} for number in range(9)}
    assert describe_not_read(not_read, data_option=" --data D")[-1] == "4 others: inorder plan --data D"
