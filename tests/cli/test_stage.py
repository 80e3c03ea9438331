"""`inorder stage`: what becomes of items, and what the exit code says of it."""

import os
from pathlib import Path

import pytest

import inorder
from inorder.cli import stage_runner
from inorder.cli.stage_loader import StageJob
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("CLI-3"), pytest.mark.process]


def test_a_stage_in_the_current_folder_is_run_and_its_outputs_are_there(cli: CommandLine) -> None:
    cli.sources("one", "one two", "one two three")
    ended = cli.stage("count")
    assert (ended.code, ended.out) == (0, "")
    assert [cli.output(f"{number}.txt").read_text() for number in range(3)] == ["1\n", "2\n", "3\n"]
    assert [row["words"] for row in cli.rows()] == [1, 2, 3]
    assert "count: 3 succeeded, 0 skipped, 0 failed" in ended.err
    assert "manifest: .inorder/manifests/count.jsonl" in ended.err


def test_a_stage_in_processes_is_found_by_its_workers_too(cli: CommandLine) -> None:
    cli.sources("one", "die", "one two three")
    ended = cli.stage("count", "--policy", "cpu", "--workers", "1")
    assert ended.code == 3
    assert "SIGKILL" in cli.row("1.txt")["error"]["message"]
    assert cli.output("2.txt").read_text() == "3\n"


def test_the_same_again_does_nothing_and_says_so(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count")
    ended = cli.stage_in_process("count", "--json")
    assert ended.code == 0
    assert (ended.json["skipped"], ended.json["succeeded"]) == (2, 0)
    assert sorted(cli.calls()) == ["0.txt", "1.txt"]


def test_force_does_everything_again(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count")
    assert cli.stage_in_process("count", "--force").code == 0
    assert sorted(cli.calls()) == ["0.txt", "0.txt", "1.txt", "1.txt"]


def test_with_json_stdout_is_the_outcome_and_nothing_else_even_if_workers_print(cli: CommandLine) -> None:
    cli.sources("print I am here", "two")
    for policy in ("io", "cpu"):
        ended = cli.stage("count", "--json", "--force", "--policy", policy)
        assert ended.json["succeeded"] == 2
        assert "I am here" in ended.err


@pytest.mark.req("RTY-4")
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_an_item_that_takes_too_long_fails_alone(cli: CommandLine, policy: str) -> None:
    cli.sources("one", "hang", "three")
    ended = cli.stage("count", "--policy", policy, "--timeout-s", "0.3", "--retries", "2", "--json")
    assert ended.code == 3
    assert (ended.json["succeeded"], ended.json["failed"]) == (2, 1)
    row = cli.row("1.txt")
    assert (row["status"], row["error"]["category"], row["attempts"]) == ("failure", "timeout", 1)


def test_an_item_that_fails_twice_and_then_succeeds_is_a_success(cli: CommandLine) -> None:
    cli.sources("one", "flaky 3", "three")
    ended = cli.stage_in_process("count", "--retries", "2", "--set", "retry_backoff_s=0.01")
    assert ended.code == 0
    assert (cli.row("1.txt")["status"], cli.row("1.txt")["attempts"]) == ("success", 3)
    assert cli.calls().count("1.txt") == 3


@pytest.mark.req("RTY-5")
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.parametrize("stage", ["count", "mapped"])
def test_only_errors_that_may_pass_are_tried_again(cli: CommandLine, stage: str, policy: str) -> None:
    expected = {
        "404": ("provider", 1),
        "429": ("provider", 3),
        "503": ("provider", 3),
        "program": ("runtime", 1),
        "custom": ("runtime", 3) if stage == "mapped" else ("unknown", 1),
        "reset": ("provider", 3),
        "retryable": ("runtime", 3),
    }
    cli.sources(*(f"raise {kind}" for kind in expected))
    assert cli.stage(stage, "--retries", "2", "--set", "retry_backoff_s=0.01", "--policy", policy).code == 3
    rows = dict(zip(expected, cli.rows(), strict=True))
    assert {kind: (row["error"]["category"], row["attempts"]) for kind, row in rows.items()} == expected
    assert [cli.calls().count(f"{number}.txt") for number in range(len(expected))] == [
        attempts for _, attempts in expected.values()
    ]


def test_an_item_that_needs_one_retry_more_than_it_has_fails(cli: CommandLine) -> None:
    cli.sources("flaky 3")
    assert cli.stage_in_process("count", "--retries", "1", "--set", "retry_backoff_s=0.01").code == 3
    row = cli.row("0.txt")
    assert (row["error"]["category"], row["attempts"]) == ("provider", 2)


@pytest.mark.req("CAN-3")
@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_budget_of_one_and_three_failures_stop_at_the_second(cli: CommandLine, workers: str) -> None:
    cli.sources("one", "fail input", "three", "fail input", "five", "fail input", "seven")
    ended = cli.stage_in_process("count", "--error-budget", "1", "--workers", workers, "--json")
    assert ended.code == 4
    outcome = ended.json
    assert (outcome["succeeded"], outcome["failed"], outcome["cancelled"]) == (2, 2, 3)
    assert outcome["stop_kind"] == "error budget"
    assert [row["status"] for row in cli.rows()] == ["success", "failure", "success", "failure"]
    assert not cli.output("4.txt").exists()
    assert "stopped, too many failures" in ended.err


@pytest.mark.req("CAN-3")
def test_a_budget_that_is_not_exceeded_is_not_felt(cli: CommandLine) -> None:
    cli.sources("one", "fail input", "three")
    assert cli.stage_in_process("count", "--error-budget", "1").code == 3


def test_failures_are_summed_up_with_what_to_do_next(cli: CommandLine) -> None:
    cli.sources("fail input", "fail input", "fail config", "four")
    ended = cli.stage_in_process("count", "--data", "else where")
    assert ended.code == 3
    assert "failed: 0.txt (input): told to fail with input [and 1 more like it]" in ended.err
    assert "failed: 2.txt (config): told to fail with config" in ended.err
    assert "inorder failures --data 'else where'" in ended.err
    assert "inorder retry --data 'else where'" in ended.err
    assert "more; see" not in ended.err


def test_failures_that_are_not_listed_are_counted(cli: CommandLine) -> None:
    cli.sources("fail input", "fail config", "fail runtime", "fail provider", "fail provider")
    ended = cli.stage_in_process("count", "--data", "else where")
    assert ended.err.count("  failed: ") == 4
    assert "  failed: 2 more; see `inorder failures --data 'else where'`\n" in ended.err


def test_a_worker_that_says_skip_is_a_skip_with_its_reason(cli: CommandLine) -> None:
    cli.sources("skip nothing in it", "two")
    ended = cli.stage_in_process("count", "--json")
    assert ended.code == 0
    assert ended.json["skipped"] == 1
    assert (cli.row("0.txt")["status"], cli.row("0.txt")["reason"]) == ("skip", "nothing in it")


@pytest.mark.parametrize(
    ("text", "category", "message"),
    [
        ("empty", "runtime", "left its output 'count' empty"),
        ("forget", "runtime", "did not write its output 'count'"),
        ("outside", "config", "cannot be published in DATA"),
    ],
)
def test_an_output_that_cannot_be_published_fails_its_item(
    cli: CommandLine, text: str, category: str, message: str
) -> None:
    cli.sources("one", text, "three")
    ended = cli.stage_in_process("count")
    assert ended.code == 3
    error = cli.row("1.txt")["error"]
    assert error["category"] == category
    assert message in error["message"]
    assert message in ended.err
    assert sorted(path.name for path in (cli.data / "counts").glob("*.txt")) == ["0.txt", "2.txt"]
    assert not (cli.folder / "outside").exists()


@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_hooks_that_raise_are_warnings(cli: CommandLine, policy: str) -> None:
    cli.sources("one", "two")
    ended = cli.stage("hooked", "--policy", policy, "--json")
    assert (ended.code, ended.json["succeeded"]) == (0, 2)
    assert any("before_stage: RuntimeError: the hook is broken" in warning for warning in ended.json["warnings"])
    assert any("before_item: RuntimeError" in warning for warning in cli.row("0.txt")["warnings"])
    assert "warning: before_stage: RuntimeError: the hook is broken" in ended.err


def test_quiet_is_silent_unless_something_went_wrong(cli: CommandLine) -> None:
    cli.sources("one")
    assert cli.stage("count", "--quiet") == (0, "", "")
    cli.source("1.txt", "fail input")
    ended = cli.stage("count", "-q")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines() == [
        "inorder: count: 0 succeeded, 1 skipped, 1 failed in " + ended.err.split()[-2] + " s"
    ]


@pytest.mark.req("RUN-3")
def test_a_stage_for_a_device_refuses_processes_unless_somebody_insists(cli: CommandLine) -> None:
    cli.sources("one")
    ended = cli.stage("device", "--policy", "cpu")
    assert (ended.code, ended.out) == (2, "")
    assert "stage count needs policy gpu" in ended.err
    assert "--set i_know_what_im_doing=true" in ended.err
    assert not cli.data.exists()
    assert cli.stage("device", "--policy", "cpu", "--set", "i_know_what_im_doing=true").code == 0
    assert cli.stage("device", "--policy", "io").code == 0
    assert cli.stage("device").code == 0


@pytest.mark.parametrize("data", ["occupied", "occupied/data"])
def test_a_file_as_data_is_a_mistake_of_the_operator(cli: CommandLine, data: str) -> None:
    cli.sources("one")
    cli.write("occupied", "a file, where a folder is wanted")
    said = "inorder: DATA cannot be used: occupied is not a directory; choose another directory with --data\n"
    assert cli.stage_in_process("count", "--data", data) == (2, "", said)


def test_a_data_folder_that_the_system_refuses_is_named_with_the_reason(cli: CommandLine) -> None:
    cli.sources("one")
    name = "x" * 300
    said = f"inorder: DATA cannot be used: {name}: File name too long; choose another directory with --data\n"
    assert cli.stage_in_process("count", "--data", name) == (2, "", said)


def test_a_damaged_journal_is_refused_and_named(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage_in_process("count")
    (cli.data / "journal" / "count.journal").write_bytes(b"no journal")
    ended = cli.stage_in_process("count")
    assert ended.code == 6
    assert "journal/count.journal" in ended.err
    assert "restore it from a backup, or remove it to start over" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_what_watches_a_run_can_be_switched_on(cli: CommandLine) -> None:
    cli.sources("one", "two")
    assert cli.stage_in_process("count", "--set", "adaptive=true", "--set", "attempts_log=true").code == 0
    [log] = (cli.data / "attempts").iterdir()
    assert log.read_text().count('"started"') == 2


def test_an_error_shows_its_traceback_with_debug_alone(cli: CommandLine) -> None:
    cli.sources("one")
    plain = cli.stage("broken")
    assert "Traceback" not in plain.err
    thorough = cli.run("--debug", "stage", "jobs:broken", "sources")
    assert plain.code == thorough.code == 2
    assert "Traceback" in thorough.err
    assert "no items today" in thorough.err


def test_a_source_whose_name_is_no_text_is_worked_on_like_any_other(cli: CommandLine) -> None:
    folder = os.fsdecode(b"caf\xe9")
    os.mkdir(cli.folder / folder)
    (cli.folder / folder / "0.txt").write_text("one")
    assert cli.run("stage", "jobs:count", folder).code == 0
    assert cli.output("0.txt").read_text() == "1\n"


def test_little_free_memory_is_kept_from_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first thread has a heap of its own."""
    calls: list[str] = []
    monkeypatch.setattr(stage_runner, "limit_free_memory", lambda: calls.append("limit"))
    monkeypatch.setattr("inorder.stage.run.run_stage", lambda *_, **__: calls.append("run"))
    stage = inorder.Stage(name="count", plan=lambda *_: inorder.StagePlan("count", []), worker=print)
    job = StageJob("jobs:count", [], stage)
    stage_runner.run_job(job, inorder.StagePlan("count", []), inorder.StageOptions(data=tmp_path))
    assert calls == ["limit", "run"]
