"""`inorder explain` and `inorder plan`: what a run would do, and why, without running anything."""

import signal

import pytest

from inorder.stage.files import file_stat
from inorder.stage.files.file_stat import FileStat
from inorder.stage.files.hash_cache import HashCache
from tests.support.command_line import CommandLine

COUNTS = {"process": 0, "skip": 0, "depends": 0, "remove": 0, "fail": 0}
pytestmark = [pytest.mark.req("CLI-5"), pytest.mark.process]


@pytest.fixture
def done(cli: CommandLine) -> CommandLine:
    """Three items, all done."""
    cli.sources("one", "one two", "one two three")
    assert cli.stage_in_process("count").code == 0
    return cli


def explained(cli: CommandLine, path: str = "sources/0.txt") -> tuple[str, str]:
    [found] = cli.run("explain", path, "--json").json["stages"]
    return found["verdict"], found["reason"]


def is_true(cli: CommandLine, *expected: str) -> None:
    """What was foretold is what a run does."""
    before = len(cli.calls())
    cli.stage_in_process("count")
    assert sorted(cli.calls()[before:]) == list(expected)


def test_what_is_done_would_be_skipped(done: CommandLine) -> None:
    assert explained(done) == ("skip", "its outputs, inputs and configuration are unchanged")
    is_true(done)


def test_a_changed_input_is_the_reason_and_what_it_was_is_told(done: CommandLine) -> None:
    done.source("0.txt", "another one")
    assert explained(done) == ("process", "its input has changed")
    [found] = done.run("explain", "sources/0.txt", "--json").json["stages"]
    change = found["changed"]["input_sha256"]
    assert change["was"] == done.row("0.txt")["input_sha256"] != change["is"]
    assert explained(done, "sources/1.txt")[0] == "skip"
    is_true(done, "0.txt")


@pytest.mark.req("RUN-17")
def test_files_are_read_whatever_the_cache_of_hashes_says(done: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))  # no file is racy
    path = done.source("0.txt", "other words")
    cache = HashCache(str(done.data / "cache" / "count.sqlite"))
    cache.put(str(path), FileStat.read(str(path)), "sha256", done.row("0.txt")["input_sha256"])
    cache.close()
    [planned, *_] = done.run("plan", "--json").json["items"]
    assert planned["verdict"] == "skip", "the cache is not used at all"
    assert explained(done) == ("process", "its input has changed")
    [problem] = done.run("verify", "--json").json["problems"]
    assert (problem["kind"], problem["path"]) == ("outdated", str(path))


def test_a_changed_configuration_is_the_reason_for_every_item(done: CommandLine) -> None:
    done.write("config", "deadbeef")
    ended = done.run("explain", "sources/1.txt")
    assert ended.out.splitlines() == [
        "count: 1.txt would be processed: its configuration has changed",
        "  configuration: was (none), is deadbeef",
        "  latest run: success",
    ]
    is_true(done, "0.txt", "1.txt", "2.txt")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "its output 'count' is missing"),
        (lambda path: path.write_text(""), "its output 'count' is empty"),
        (lambda path: path.write_text("7\n"), "its output 'count' was altered"),
        (lambda path: path.with_name(f"{path.name}.fp.json").unlink(), "it has no fingerprint"),
        (lambda path: path.with_name(f"{path.name}.fp.json").write_text("{}"), "it has no fingerprint"),
    ],
)
def test_an_output_that_is_not_what_was_made_is_the_reason(done: CommandLine, damage: object, reason: str) -> None:
    damage(done.output("0.txt"))  # type: ignore[operator]
    assert explained(done) == ("process", reason)
    is_true(done, "0.txt")


def test_an_input_that_is_gone_would_fail(done: CommandLine) -> None:
    """The plan still names it: somebody keeps a list."""
    done.write("listed.py", LISTED)
    assert done.run("stage", "listed:stage", "sources").code == 0
    (done.source_folder / "0.txt").unlink()
    verdict, reason = explained(done)
    assert (verdict, reason) == ("fail", f"no such file or directory: {done.source_folder / '0.txt'}")
    assert done.run("explain", "sources/0.txt").out.startswith("count: 0.txt would fail: no such file or directory: ")
    planned = done.run("plan", "--json").json
    assert planned["stages"]["count"] == COUNTS | {"fail": 1}


LISTED = """
import inorder
from jobs import work

def plan(sources, data):
    inputs = {"text": sources[0] / "0.txt"}
    return inorder.StagePlan("count", [inorder.WorkItem(item_id="0.txt", inputs=inputs, outputs={"count": "n"})])

stage = inorder.Stage(name="count", plan=plan, worker=work)
"""


@pytest.mark.parametrize("path", ["0.txt", "sources/0.txt", "./sources/../sources/0.txt", ".inorder/counts/0.txt"])
def test_an_item_is_known_by_its_id_its_input_and_its_output(done: CommandLine, path: str) -> None:
    assert explained(done, path)[0] == "skip"


def test_what_no_stage_knows_is_said_to_be_unknown(done: CommandLine) -> None:
    ended = done.run("explain", "jobs.py")
    assert ended.code == 0
    assert ended.out == "count: jobs.py: not found in the plan of this stage\n"
    assert explained(done, "jobs.py")[0] == "absent"


def test_a_failure_and_a_new_file_are_told_of(done: CommandLine) -> None:
    done.source("0.txt", "fail input")
    done.stage_in_process("count")
    done.source("3.txt", "new")
    assert "latest run: failure (input, 1 attempt): told to fail with input" in done.run("explain", "0.txt").out
    assert "latest run: not reached yet" in done.run("explain", "3.txt").out


def test_what_an_interrupted_run_has_done_would_be_passed_by(cli: CommandLine) -> None:
    cli.sources("bare", "fail input")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:hasty", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2)
    program.send_signal(signal.SIGTERM)
    cli.end_of(program)
    for name in ("0.txt", "1.txt"):
        assert explained(cli, name) == (
            "skip",
            "already committed by the interrupted run, which will be resumed",
        )
    cli.source("2.txt", "three")
    assert explained(cli, "2.txt") == ("process", "its output 'count' is missing")
    is_true(cli, "2.txt")
    assert explained(cli, "1.txt")[0] == "process"


def test_a_plan_that_has_changed_since_the_interruption_begins_anew(cli: CommandLine) -> None:
    cli.sources("bare", "one")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:hasty", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2)
    program.send_signal(signal.SIGTERM)
    cli.end_of(program)
    cli.source("2.txt", "three")
    cli.source("00.txt", "a new first one")
    assert explained(cli, "0.txt") == ("process", "it declares no outputs")
    is_true(cli, "0.txt", "00.txt", "2.txt")


def test_a_stage_that_cannot_be_found_from_here_is_told_in_one_line(done: CommandLine) -> None:
    (done.folder / "jobs.py").unlink()
    ended = done.run("explain", "sources/0.txt")
    assert ended.code == 2
    assert ended.err.startswith("inorder: cannot make the plan of stage count: no module named jobs")


def test_a_stage_that_cannot_be_found_does_not_hide_the_others(done: CommandLine) -> None:
    done.write("listed.py", LISTED.replace('"count"', '"listed"'))
    done.run("stage", "listed:stage", "sources")
    (done.folder / "listed.py").unlink()
    for command in (["explain", "sources/0.txt"], ["plan"]):
        ended = done.run(*command, "--json")
        assert ended.code == 0
        assert "cannot make the plan of stage listed" in ended.err
        assert "count" in ended.out


def test_a_plan_lists_every_item_with_the_reason_and_counts_them(done: CommandLine) -> None:
    done.source("1.txt", "other words")
    ended = done.run("plan")
    assert ended.out.splitlines() == [
        "skip     count  0.txt  its outputs, inputs and configuration are unchanged",
        "process  count  1.txt  its input has changed",
        "skip     count  2.txt  its outputs, inputs and configuration are unchanged",
        "count: 1 process, 2 skip",
    ]
    as_json = done.run("plan", "jobs:count", "sources", "--json").json
    assert as_json["stages"] == {"count": COUNTS | {"process": 1, "skip": 2}}
    assert as_json["items"][1] == {
        "stage": "count",
        "item_id": "1.txt",
        "verdict": "process",
        "reason": "its input has changed",
    }


def test_a_plan_with_force_runs_every_item(done: CommandLine) -> None:
    assert done.run("plan", "--force").out.splitlines()[-1] == "count: 3 process, 0 skip"


def test_a_plan_may_be_asked_for_before_anything_was_run_and_makes_nothing(cli: CommandLine) -> None:
    cli.sources("one", "two")
    ended = cli.run("plan", "jobs:count", "sources", "--data", "later")
    assert ended.out.splitlines()[-1] == "count: 2 process, 0 skip"
    assert not (cli.folder / "later").exists()
    assert cli.calls() == []
