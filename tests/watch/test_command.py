"""`inorder watch` as a process: it follows changes, ends by signals, and keeps DATA like `inorder run` does."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.documents.embed.servers import Script, held_by, serving
from tests.support.command_line import CommandLine
from tests.watch.processes import IN_THREADS, Watch

pytestmark = [pytest.mark.process, pytest.mark.req("CLI-3")]


def list_documents(cli: CommandLine) -> set[str]:
    """The documents that a search finds."""
    found = cli.run("search", "lamp", "--mode", "lexical", "-k", "100", "--json").json
    return {hit["path"].rpartition("/")[2] for hit in found["hits"]}


def test_new_changed_renamed_and_deleted_files_are_searchable_after_a_run(cli: CommandLine) -> None:
    for name in ("a.md", "b.md", "c.md"):
        cli.source(name, f"# Lamp {name}\n\nA lamp.\n")
    watch = Watch(cli)
    first = watch.next("run_ended")
    assert (first["run"], first["exit_code"]) == (1, 0)
    assert (first["outcome"]["counts"]["new"], first["outcome"]["documents"]) == (3, 3)
    cli.source("d.md", "# New\n\nA new lamp.\n")
    os.replace(cli.source(".c.md.tmp", "# Dark\n\nNothing shines here.\n"), cli.source_folder / "c.md")
    (cli.source_folder / "a.md").unlink()
    (cli.source_folder / "b.md").rename(cli.source_folder / "e.md")
    while list_documents(cli) != {"d.md", "e.md"}:
        assert watch.next("run_ended")["exit_code"] == 0
    ended = watch.end()
    assert (ended.code, ended.err.splitlines()[-1]) == (
        143,
        "inorder: received SIGTERM; run the same command again to resume",
    )
    assert cli.run("verify").code == 0
    counts = cli.run("run", "sources", "--json", *IN_THREADS).json["counts"]
    assert (counts["unchanged"], counts["new"], counts["changed"]) == (3, 0, 0)


@pytest.mark.req("PIP-5")
def test_a_run_looks_at_the_changed_file_alone_and_counts_it_in_the_words_of_the_run(cli: CommandLine) -> None:
    for name in ("a.md", "b.md", "c.md"):
        cli.source(name, f"# Lamp {name}\n\nA lamp.\n")
    watch = Watch(cli)
    watch.next("run_ended")
    cli.source("b.md", "# Lamp b\n\nAnother lamp altogether.\n")
    counts: dict[str, int] = {}
    while not counts.get("changed"):
        ended = watch.next("run_ended")
        counts = ended["outcome"]["counts"]
    assert {word: count for word, count in counts.items() if count} == {"changed": 1}
    assert ended["message"].split(": ", 1)[1].startswith("1 file: 1 changed")
    assert watch.end().code == 143


def test_what_the_runs_write_below_the_source_triggers_nothing(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    data = (
        "--data",
        "sources/data",
        "--set",
        "metrics_file=sources/metrics.md",
        "--set",
        "telemetry_dir=sources/telemetry",
    )
    watch = Watch(cli, *data)
    watch.next("run_ended")
    for name in ("b.md", "c.md"):
        cli.source(name, "# Lamp\n\nAnother lamp.\n")
        names = set()
        while name not in names:
            names = {Path(path).name for path in watch.next("run_started")["paths"]}
            assert names <= {"b.md", "c.md"}
    assert watch.end().code == 143


def test_a_folder_that_vanishes_keeps_its_documents_until_it_returns(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    watch = Watch(cli)
    watch.next("run_ended")
    cli.source_folder.rename(cli.folder / "away")
    assert str(cli.source_folder) in watch.next("waiting")["reason"]
    assert list_documents(cli) == {"a.md"}
    (cli.folder / "away" / "b.md").write_text("# Lamp\n\nAnother lamp.\n")
    (cli.folder / "away").rename(cli.source_folder)
    watch.next("returned")
    watch.next("run_ended")
    assert list_documents(cli) == {"a.md", "b.md"}
    ended = watch.end(signal.SIGINT)
    assert ended.code == 130
    assert "nothing is run until it is there again" in ended.err


def test_a_second_watch_of_the_same_data_is_refused_in_one_line(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    watch = Watch(cli)
    watch.next("run_ended")
    refused = cli.run("watch", "sources")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert f"is watched already by process {watch.program.pid} " in refused.err
    beside = cli.run("run", "sources", *IN_THREADS)
    assert beside.code == 0
    watch.program.kill()
    watch.program.wait()
    again = Watch(cli)
    assert again.next("run_ended")["exit_code"] == 0
    assert again.end().code == 143


@pytest.mark.req("CAN-2")
def test_a_signal_during_a_run_stops_it_and_the_next_watch_continues(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    gate = threading.Event()
    script = Script(held_by(gate))
    with serving(script) as url:
        embed = ("--dense", f"tei:{url}", "--set", "cancel_grace_s=0")
        watch = Watch(cli, *embed)
        script.has_requests()
        ended = watch.end()
        gate.set()
        assert ended.code == 143
        assert "interrupted after" in ended.err
        assert json.loads(ended.out.splitlines()[-1])["exit_code"] == 143
        again = Watch(cli, *embed)
        assert again.next("run_ended")["exit_code"] == 0
        assert list_documents(cli) == {"a.md"}
        assert again.end().code == 143


def test_a_run_of_another_process_is_waited_for(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    assert cli.run("run", "sources", *IN_THREADS).code == 0
    holder = subprocess.Popen(
        ["flock", str(cli.data / "library.sqlite.library.lock"), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(b"held\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == b"held\n"
    watch = Watch(cli)
    assert "is in use by" in watch.next("retrying")["problem"]
    holder.communicate()
    while watch.next("run_ended")["exit_code"] != 0:
        pass
    assert watch.end().code == 143


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "no such file or directory"),
        (("sources", "--settle", "5", "--settle-max", "1"), "--settle-max must not be less than --settle"),
        (("sources", "--poll", "0"), "--poll must be between 0.1 and 604800 seconds"),
        (("sources", "--dense", "nothing"), "nothing"),
    ],
)
def test_an_operator_error_at_the_start_ends_it(cli: CommandLine, arguments: tuple[str, ...], said: str) -> None:
    ended = cli.run_in_process("watch", *arguments, *IN_THREADS)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.req("ROB-1")
def test_a_bad_pattern_while_watching_is_a_warning_that_names_file_and_line(cli: CommandLine) -> None:
    cli.source("a.md", "# Lamp a\n\nA lamp.\n")
    cli.source("b.md", "# Lamp b\n\nA lamp.\n")
    watch = Watch(cli)
    watch.next("run_ended")
    place = cli.source(".inorderignore", "[z-a]\n\\\nb.md\n")
    warnings = [watch.next("warning")["message"] for _ in range(2)]
    assert [text.partition(": ")[0] for text in warnings] == [f"{place}, line 1", f"{place}, line 2"]
    while list_documents(cli) != {"a.md"}:
        assert watch.next("run_ended")["exit_code"] == 0
    assert watch.end().code == 143
