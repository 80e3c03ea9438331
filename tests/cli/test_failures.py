"""`inorder failures` and `inorder retry`: what failed, and running exactly that again."""

import json
import signal

import pytest

from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("CLI-4"), pytest.mark.process]


@pytest.fixture
def failed(cli: CommandLine) -> CommandLine:
    """Five items; the second and the fourth have failed."""
    cli.sources("one", "fail input", "three", "flaky 9", "five")
    assert cli.stage_in_process("count", "--retries", "1", "--set", "retry_backoff_s=0.01").code == 3
    return cli


def test_failed_items_are_listed_with_category_attempts_and_reason(failed: CommandLine) -> None:
    ended = failed.run("failures")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "1.txt",
        "  count, input: told to fail with input",
        "3.txt",
        "  count, provider, 2 attempts: ConnectionError: not yet",
    ]
    assert ended.err == "2 items failed; to try again: inorder retry\n"
    assert "inorder retry --data .inorder\n" in failed.run("failures", "--data", ".inorder").err


def test_dead_letters_are_the_rows_themselves(failed: CommandLine) -> None:
    rows = [json.loads(line) for line in failed.run("failures", "--jsonl").out.splitlines()]
    assert rows == [failed.row("1.txt"), failed.row("3.txt")]
    assert failed.run("failures", "--json").json == {"failures": rows, "count": 2}


def test_retry_runs_exactly_what_failed_and_adds_its_rows(failed: CommandLine) -> None:
    before = failed.lines()
    untouched = {number: failed.output(f"{number}.txt").stat() for number in (0, 2, 4)}
    failed.source("1.txt", "now it works")
    calls = failed.calls()
    ended = failed.run("retry", "--json")
    assert ended.code == 3
    [outcome] = ended.json["stages"]
    assert (outcome["scheduled"], outcome["succeeded"], outcome["failed"]) == (2, 1, 1)
    assert sorted(failed.calls()[len(calls) :]) == ["1.txt", "3.txt"]
    assert failed.lines()[: len(before)] == before
    config, first, second = failed.lines()[len(before) :]
    assert config["origin"] == before[0]["origin"] | {"only": "failures"}
    assert (first["doc_id"], first["status"], second["doc_id"], second["status"]) == (
        "1.txt",
        "success",
        "3.txt",
        "failure",
    )
    assert {number: failed.output(f"{number}.txt").stat() for number in (0, 2, 4)} == untouched
    assert failed.run("failures", "--json").json["count"] == 1
    assert failed.run("verify").code == 0


def test_after_a_retry_the_whole_stage_finds_everything_done(failed: CommandLine) -> None:
    failed.source("1.txt", "now it works")
    failed.source("3.txt", "and this too")
    assert failed.run("retry").code == 0
    assert failed.run("failures").out == ""
    ended = failed.stage_in_process("count", "--json")
    assert (ended.code, ended.json["skipped"], ended.json["succeeded"]) == (0, 5, 0)
    nothing = failed.run("retry", "--json")
    assert (nothing.code, nothing.json) == (0, {"run": None, "stages": []})
    assert failed.run("retry").err == "nothing to retry\n"


def test_a_retry_runs_an_item_again_though_an_older_result_of_it_is_there(cli: CommandLine) -> None:
    cli.sources("flaky 1")
    cli.stage_in_process("count")
    made = cli.output("0.txt").read_text()
    (cli.folder / "calls").write_text("")
    cli.source("0.txt", "flaky 2")
    assert cli.stage_in_process("count", "--force").code == 3
    cli.source("0.txt", "flaky 1")  # as it was when its result was made: a run would skip it
    assert cli.output("0.txt").read_text() == made
    assert cli.run("retry").code == 0
    assert cli.calls() == ["0.txt", "0.txt"]


def test_an_item_that_a_later_run_has_done_has_not_failed(failed: CommandLine) -> None:
    failed.source("1.txt", "now it works")
    failed.source("3.txt", "skip not needed")
    assert failed.stage_in_process("count").code == 0
    assert failed.run("failures").out == ""


def test_failed_items_that_are_no_longer_in_the_plan_are_left_alone(failed: CommandLine) -> None:
    (failed.source_folder / "1.txt").unlink()
    ended = failed.run("retry", "--json")
    assert ended.code == 3
    assert "count: 1 failed item is no longer in the plan; left unchanged" in ended.err
    assert ended.json["stages"][0]["scheduled"] == 1
    (failed.source_folder / "3.txt").unlink()
    ended = failed.run("retry", "--json")
    assert (ended.code, ended.json) == (0, {"run": None, "stages": []})


def test_a_retry_takes_the_same_options_as_a_run(cli: CommandLine) -> None:
    cli.sources("flaky 3", "two")
    assert cli.stage_in_process("count").code == 3
    assert cli.run("retry", "--retries", "1", "--set", "retry_backoff_s=0.01").code == 0
    assert cli.row("0.txt")["attempts"] == 2
    cli.sources("fail input", "fail input")
    cli.stage_in_process("count")
    assert cli.run("retry", "--error-budget", "0").code == 4


def interrupted(cli: CommandLine, *arguments: str) -> None:
    """Interrupt a command once the worker is at `2.txt` and two items before it are committed."""
    cli.held("2.txt")
    program = cli.start(*arguments, "--workers", "1")
    cli.is_held("2.txt", committed=len(cli.lines()) + 1 if cli.data.exists() else 2)
    program.send_signal(signal.SIGTERM)
    assert cli.end_of(program).code == 143


def test_a_run_that_was_interrupted_is_gone_on_with_before_anything_is_retried(cli: CommandLine) -> None:
    """Its journal would be thrown away; and one of its items has no outputs by which it could be known to be done."""
    cli.sources("bare", "fail input")
    interrupted(cli, "stage", "jobs:hasty", "sources")
    journal = (cli.data / "journal" / "count.journal").read_bytes()
    ended = cli.run("retry")
    assert ended.code == 2
    assert "was interrupted after 2 items; run the same command again to resume it" in ended.err
    assert (cli.data / "journal" / "count.journal").read_bytes() == journal
    cli.source("2.txt", "three")
    assert cli.stage_in_process("hasty", "--json").json["resumed_at"] == 2
    assert cli.calls().count("0.txt") == 1
    cli.source("1.txt", "now it works")
    assert cli.run("retry").code == 0


def test_a_retry_that_was_interrupted_is_simply_repeated(cli: CommandLine) -> None:
    cli.sources("fail input", "fail input", "fail input", "four")
    assert cli.stage_in_process("hasty").code == 3
    cli.sources("now it works", "fail io")
    interrupted(cli, "retry")
    assert [row["status"] for row in cli.rows()[-2:]] == ["success", "failure"]
    assert cli.run("verify", "--json").json["problems"][0]["kind"] == "unfinished"
    cli.source("2.txt", "now it works")
    ended = cli.run("retry", "--json")
    assert (ended.code, ended.json["stages"][0]["scheduled"]) == (3, 2)
    cli.source("1.txt", "now it works")
    assert cli.run("retry").code == 0
    assert cli.stage_in_process("hasty", "--json").json["skipped"] == 4
    assert cli.run("verify").code == 0


@pytest.mark.parametrize("stage", ["hasty", "lazy"])
def test_a_whole_run_after_an_interrupted_retry_does_what_is_left(cli: CommandLine, stage: str) -> None:
    """The journal that lies there is of a part of the plan, and begins with another item than the plan does."""
    name = {"hasty": "count", "lazy": "lazy"}[stage]
    cli.sources("one", "fail input", "fail input")
    assert cli.stage_in_process(stage).code == 3
    cli.source("1.txt", "now it works")
    cli.source("2.txt", "die")
    assert cli.run("retry", "--workers", "1").code == -signal.SIGKILL
    cli.source("2.txt", "three")
    ended = cli.stage_in_process(stage, "--json")
    assert (ended.code, ended.json["resumed_at"], ended.json["scheduled"]) == (0, None, 3)
    assert cli.calls().count("0.txt") == 1
    assert cli.row("2.txt", name)["status"] == "success"
    assert cli.run("verify").code == 0


def test_a_stage_that_was_run_by_a_program_cannot_be_retried_from_here(cli: CommandLine) -> None:
    cli.sources("fail input")
    cli.stage_in_process("count")
    manifest = cli.data / "manifests" / "count.jsonl"
    head, row = manifest.read_bytes().splitlines()
    config = json.loads(head) | {"origin": {}}
    manifest.write_bytes(json.dumps(config, separators=(",", ":")).encode() + b"\n" + row + b"\n")
    ended = cli.run("retry")
    assert ended.code == 2
    assert "it was run by a program; run that program instead" in ended.err


def test_only_the_stage_that_was_asked_for_is_retried(cli: CommandLine) -> None:
    cli.sources("fail input")
    cli.stage_in_process("count")
    cli.stage_in_process("lazy", "--force")
    calls = len(cli.calls())
    assert [row["stage"] for row in cli.run("failures", "--json").json["failures"]] == ["count", "lazy"]
    assert [row["stage"] for row in cli.run("failures", "--json", "--stage", "lazy").json["failures"]] == ["lazy"]
    cli.source("0.txt", "now it works")
    assert cli.run("retry", "--stage", "lazy").code == 0
    assert len(cli.calls()) == calls + 1
    assert [row["stage"] for row in cli.run("failures", "--json").json["failures"]] == ["count"]


@pytest.mark.req("RUN-15")
def test_tracebacks_are_shown_to_whoever_asks_for_them(failed: CommandLine) -> None:
    trace = failed.row("3.txt")["traceback"]
    assert trace.startswith("Traceback (most recent call last):")
    assert trace.endswith("ConnectionError: not yet")
    shown = [f"    {line}" for line in trace.splitlines()]
    lines = failed.run("failures", "-v").out.splitlines()
    start = lines.index("  count, provider, 2 attempts: ConnectionError: not yet")
    assert lines[start + 1 :] == shown
    explained = failed.run("explain", "sources/3.txt").out.splitlines()
    assert explained[-len(shown) :] == shown
    [found] = failed.run("explain", "sources/3.txt", "--json").json["stages"]
    assert found["latest"]["error"]["traceback"] == trace
