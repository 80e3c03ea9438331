"""`inorder inspect` and `inorder manifest`, and what every command says where there is nothing to look at."""

import json
import signal
import subprocess

import pytest

from tests.support.command_line import COMMAND, CommandLine

pytestmark = pytest.mark.req("CLI-1")

LOOKING = ["failures", "retry", "explain x", "plan", "verify", "inspect", "manifest"]


@pytest.fixture
def done(cli: CommandLine) -> CommandLine:
    """Two runs; the second has found one of the failures mended."""
    cli.sources("one", "fail input", "skip no words", "fail io", "warn careful")
    cli.stage_in_process("count")
    cli.source("3.txt", "now it works")
    cli.stage_in_process("count")
    return cli


@pytest.mark.process
@pytest.mark.parametrize("command", LOOKING)
def test_where_there_is_no_data_it_is_said_in_one_line(cli: CommandLine, command: str) -> None:
    ended = cli.run(*command.split())
    line = "inorder: no DATA directory at .inorder; run `inorder run SRC` first, or choose another with --data\n"
    assert ended == (2, "", line)


@pytest.mark.process
@pytest.mark.parametrize("command", LOOKING)
def test_a_folder_that_is_no_data_is_named(cli: CommandLine, command: str) -> None:
    ended = cli.run(*command.split(), "--data", "sources")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("inorder: sources is not a DATA directory: it has no manifests")


@pytest.mark.process
@pytest.mark.parametrize("command", LOOKING)
def test_a_file_as_data_is_said_to_be_one(cli: CommandLine, command: str) -> None:
    cli.write("afile", "")
    ended = cli.run(*command.split(), "--data", "afile")
    said = "inorder: DATA cannot be used: afile is not a directory; choose another directory with --data\n"
    assert ended == (2, "", said)


@pytest.mark.process
def test_a_stage_that_is_not_there_is_named_with_those_that_are(done: CommandLine) -> None:
    ended = done.run("inspect", "--stage", "cuont")
    assert ended == (2, "", "inorder: no stage 'cuont' in .inorder; stages: count\n")


@pytest.mark.process
def test_inspect_counts_items_by_how_they_stand_after_all_runs(done: CommandLine) -> None:
    found = done.run("inspect", "--json").json
    [stage] = found["stages"]
    assert stage["items"] == {"success": 3, "skip": 1, "failure": 1}
    assert stage["failures"] == {"input": 1}
    assert stage["latest_run"]["state"] == "ended"
    assert stage["latest_run"]["origin"] == {"entry": "jobs:count", "sources": [str(done.source_folder)]}
    assert stage["warnings"] == ["1 item failed: see `inorder failures`"]
    assert found["sizes"]["counts"]["files"] == 6
    size = sum(path.stat().st_size for path in (done.data / "counts").iterdir())
    assert found["sizes"]["counts"]["bytes"] == size
    warnings = done.run("inspect", "--json", "--data", str(done.data)).json["stages"][0]["warnings"]
    assert warnings == [f"1 item failed: see `inorder failures --data {done.data}`"]


@pytest.mark.process
def test_inspect_says_it_in_words(done: CommandLine) -> None:
    lines = done.run("inspect").out.splitlines()
    assert lines[0] == "DATA .inorder"
    assert "  items       3 success, 1 skip, 1 failure" in lines
    assert "  failures    1 input" in lines
    assert any(line.startswith("  latest run  ") and line.endswith(", ended") for line in lines)
    assert any(line.split()[:1] == ["counts"] and line.endswith("6 files") for line in lines)


@pytest.mark.process
def test_inspect_warns_of_what_wants_attention(cli: CommandLine) -> None:
    cli.sources("one", "warn careful", "die")
    cli.start("stage", "jobs:count", "sources", "--workers", "1", "--set", "fsync=always")
    assert cli.end_of(cli.started[0]).code == -signal.SIGKILL
    manifest = cli.data / "manifests" / "count.jsonl"
    manifest.write_bytes(manifest.read_bytes() + b"nonsense\n")
    warnings = "\n".join(cli.run("inspect", "--json").json["stages"][0]["warnings"])
    assert "the latest run was interrupted after" in warnings
    assert "1 line of the manifest cannot be read" in warnings
    (cli.data / "journal" / "count.journal").write_bytes(b"nonsense")
    assert "the journal is not a journal" in cli.run("inspect").out
    (cli.data / "journal" / "count.journal").unlink()
    assert "the journal is missing" in cli.run("inspect").out


@pytest.mark.process
def test_manifest_shows_rows_filtered_by_status_and_run(done: CommandLine) -> None:
    everything = done.run("manifest", "--json").json["rows"]
    assert everything == done.lines()
    assert done.run("manifest", "--last-run", "--json").json["rows"] == done.lines()[6:]
    failures = done.run("manifest", "--status", "failure", "--json").json["rows"]
    assert [row["doc_id"] for row in failures] == ["1.txt", "3.txt", "1.txt"]
    latest = done.run("manifest", "--status", "failure", "--last-run", "--jsonl")
    assert [json.loads(line)["doc_id"] for line in latest.out.splitlines()] == ["1.txt"]
    assert done.run("manifest", "--stage", "count", "--status", "config", "--json").json["rows"] == [
        done.lines()[0],
        done.lines()[6],
    ]


@pytest.mark.process
def test_manifest_in_words_is_a_line_a_row(done: CommandLine) -> None:
    lines = done.run("manifest", "--last-run").out.splitlines()
    assert lines[0].startswith("count  run ")
    assert [line.split()[2] for line in lines[1:]] == ["skip", "failure", "skip", "success", "skip"]
    assert lines[2].endswith("1.txt  input: told to fail with input")


@pytest.mark.process
def test_a_status_that_does_not_exist_is_refused(done: CommandLine) -> None:
    ended = done.run("manifest", "--status", "failed")
    known = "success, skip, failure, config, counts, copy, not read"
    assert ended == (2, "", f"inorder: --status must be one of {known}; got 'failed'\n")


@pytest.mark.process
def test_a_reader_that_leaves_early_is_no_trouble(done: CommandLine) -> None:
    manifest = done.data / "manifests" / "count.jsonl"
    manifest.write_bytes(manifest.read_bytes() * 500)
    program = subprocess.Popen(
        [COMMAND, "manifest"], cwd=done.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline().startswith("count  run ")
    program.stdout.close()
    assert program.stderr is not None
    with program.stderr as stderr:
        assert stderr.read() == ""
    assert program.wait() == 1


@pytest.mark.process
def test_a_journal_is_read_by_its_path(done: CommandLine) -> None:
    ended = done.run("journal", ".inorder/journal/count.journal", "--json")
    assert (ended.code, ended.json["has_ended"], ended.json["failed"]) == (0, True, 1)


def test_the_verdict_on_a_damaged_journal_is_said_once(cli: CommandLine) -> None:
    cli.write("bad.journal", "nonsense")
    ended = cli.run("journal", "bad.journal")
    assert (ended.code, ended.err) == (6, "")
    assert ended.out.count("not a journal") == 1
    assert "restore it from a backup, or remove it to start over" in ended.out
    ended = cli.run("journal", "bad.journal", "--json")
    assert (ended.code, ended.err, ended.json["verdict"]) == (6, "", "not a journal")
