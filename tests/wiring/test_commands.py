"""The options that one command alone has: each changes what the command prints, or how it ends.

They are read from the commands themselves. An option without a row fails here by its name. The options of a run, which
many commands share, are in the table of `test_wiring.py`.
"""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from inorder.cli import command_group
from inorder.cli.exit_codes import Interrupted
from inorder.cli.options import ALL
from inorder.cli.output import print_out
from inorder.extensions.trust import trust_recorded
from inorder.models.answers import Answer, AnswerStore
from inorder.models.question import Question
from inorder.watch.loop import Watcher
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("REA-1")
NOT_OURS = {"help", "install_completion", "show_completion"}
"""Options that the library of the command line adds."""
JOBS = """
from pathlib import Path
import inorder

def plan(sources, data):
    items = [inorder.WorkItem(item_id=p.name, inputs={"text": p}) for p in sorted(Path("docs").iterdir())]
    return inorder.StagePlan("picky", items)

def work(item):
    if item.item_id.endswith(".py"):
        raise ValueError("no code, please")

picky = inorder.Stage(name="picky", plan=plan, worker=work)
"""


class CommandRow(NamedTuple):
    """Two command lines that differ in one option only, and what is true of the second one's output alone."""

    without: tuple[str, ...]
    option: tuple[str, ...]
    seen: Callable[[str], bool]


def has(text: str) -> Callable[[str], bool]:
    return lambda out: text in out


def lacks(text: str) -> Callable[[str], bool]:
    return lambda out: text not in out


def is_json(out: str) -> bool:
    try:
        return isinstance(json.loads(out), dict | list)
    except ValueError:
        return False


def is_json_lines(out: str) -> bool:
    try:
        return bool(out) and all(isinstance(json.loads(line), dict) for line in out.splitlines())
    except ValueError:
        return False


def has_one_line(out: str) -> bool:
    return [len(hit["snippet"]) for hit in json.loads(out)["hits"]] == [1]


def has_many_tokens(out: str) -> bool:
    return int(json.loads(out)["tokens_in"]) > 20_000


IN_THREADS = ("--policy", "io")
SEARCH = ("search", "lamp")
SERVE = ("serve", "--port", "0")
EXPORT = ("export", "chunks", "--to", "out")
EVAL = ("eval", "queries.jsonl", "qrels.tsv")
WATCH = ("watch", "docs", "--json", *IN_THREADS)
SCHEMA, MODEL = ("--schema", "fields.json"), ("--model", "openai:http://models.example/v1#m")
EXTRACT = ("extract", *SCHEMA, *MODEL, "--json", "--plan")
ROWS = {
    ("run", "name"): CommandRow(("run", "docs", "--json", *IN_THREADS), ("--as", "a/b"), lacks("{")),
    ("watch", "settle"): CommandRow(WATCH, ("--settle", "0.2"), has('"settle_s":0.2')),
    ("watch", "settle_max"): CommandRow(WATCH, ("--settle-max", "30"), has('"settle_s_max":30.0')),
    ("watch", "poll"): CommandRow(WATCH, ("--poll", "5"), has('"poll_s":5.0')),
    ("watch", "keep_runs"): CommandRow(WATCH, ("--keep-runs", "7"), has('"keep_runs":7')),
    ("watch", "as_json"): CommandRow(("watch", "docs", *IN_THREADS), ("--json",), is_json_lines),
    ("search", "mode"): CommandRow((*SEARCH, "--json", "--mode", "lexical"), ("--mode", "dense"), has('"dense"')),
    ("search", "path"): CommandRow(SEARCH, ("--path", "docs/a.md"), lacks("c.py")),
    ("search", "language"): CommandRow(SEARCH, ("--language", "python"), lacks("a.md")),
    ("search", "kind"): CommandRow(SEARCH, ("--kind", "function"), lacks("a.md")),
    ("search", "type_"): CommandRow(SEARCH, ("--type", "py"), lacks("a.md")),
    ("search", "source"): CommandRow(SEARCH, ("--source", "!docs"), lacks("a.md")),
    ("search", "only"): CommandRow(SEARCH, ("--only", "code"), lacks("a.md")),
    ("search", "count"): CommandRow((*SEARCH, "--json"), ("-k", "1"), lambda out: len(json.loads(out)["hits"]) == 1),
    ("search", "explain"): CommandRow(SEARCH, ("--explain",), has("searched by")),
    ("search", "context"): CommandRow((*SEARCH, "--json", "-k", "1"), ("--context", "0"), has_one_line),
    ("search", "neighbours"): CommandRow(
        (*SEARCH, "--only", "code", "-k", "1"), ("--neighbours", "1"), has("return 1")
    ),
    ("search", "rerank"): CommandRow((*SEARCH, "--json"), ("--rerank", "hash"), has('"rerank":')),
    ("search", "index"): CommandRow(SEARCH, ("--index", "tape://x"), lacks("a.md")),
    ("search", "collection"): CommandRow(SEARCH, ("--collection", "x"), lacks("a.md")),
    ("eval", "rerank"): CommandRow(EVAL, ("--rerank", "hash"), has("rerank=hash")),
    ("eval", "mode"): CommandRow(EVAL, ("--mode", "lexical"), has("mode=lexical")),
    ("eval", "only"): CommandRow(EVAL, ("--only", "code"), has("only=code")),
    ("eval", "against"): CommandRow(EVAL, ("--against", "mode=lexical"), has("difference")),
    ("eval", "make"): CommandRow(EVAL, ("--make", "made"), lacks("nDCG@10")),
    ("eval", "part"): CommandRow((*EVAL, "--json"), ("--part", "2/2"), has('"questions":1')),
    ("serve", "host"): CommandRow(SERVE, ("--host", "localhost"), has("http://localhost:")),
    ("serve", "port"): CommandRow(SERVE, ("--port", "70000"), lacks("http:")),
    ("serve", "token_file"): CommandRow(SERVE, ("--token-file", "nowhere"), lacks("http:")),
    ("serve", "no_token"): CommandRow(SERVE, ("--no-token",), lacks("token=")),
    ("serve", "allow_host"): CommandRow(SERVE, ("--allow-host", "lamps.example"), has("http://lamps.example:")),
    ("serve", "open_browser"): CommandRow(SERVE, ("--open",), has("opened http://127.0.0.1:")),
    ("report", "run"): CommandRow(("report", "--json"), ("--run", "nowhere"), lacks("{")),
    ("report", "output"): CommandRow(("report",), ("-o", "other.html"), has("other.html")),
    ("report", "trace"): CommandRow(("report",), ("--trace", "docs"), lacks("report.html")),
    ("show", "form"): CommandRow(("show", "a.md"), ("--as", "doctags"), has("<title>Lamps</title>")),
    ("export", "to"): CommandRow(("export", "chunks"), ("--to", "out"), has("exported to")),
    ("export", "format_"): CommandRow((*EXPORT, "--json"), ("--format", "jsonl"), has('"format":"jsonl"')),
    ("export", "shard_bytes"): CommandRow(EXPORT, ("--shard-bytes", "1"), lacks("exported to")),
    ("export", "collection"): CommandRow(EXPORT, ("--collection", "x"), lacks("exported to")),
    ("export", "hnsw"): CommandRow(EXPORT, ("--hnsw",), lacks("exported to")),
    ("export", "recreate"): CommandRow(EXPORT, ("--recreate",), lacks("exported to")),
    ("plan", "stage"): CommandRow(("plan", "--dense", "hash:64"), ("--stage", "chunk"), lacks("embed")),
    ("extract", "schema"): CommandRow(("extract", *MODEL, "--json", "--plan"), SCHEMA, has('"pages":2')),
    ("extract", "model"): CommandRow(("extract", *SCHEMA, "--json", "--plan"), MODEL, has('"pages":2')),
    ("extract", "name"): CommandRow(EXTRACT, ("--as", "a/b"), lacks("{")),
    ("extract", "over"): CommandRow(EXTRACT, ("--over", "chunk"), has('"noun":"chunk"')),
    ("extract", "where"): CommandRow(EXTRACT, ("--where", "path:a.md"), has('"pages":1')),
    ("extract", "instruction"): CommandRow(EXTRACT, ("--instruction", "Find it. " * 9999), has_many_tokens),
    ("extract", "answer_tokens_max"): CommandRow(EXTRACT, ("--answer-tokens-max", "3"), has('"tokens_out":6')),
    ("extract", "plan"): CommandRow(EXTRACT[:-1], ("--plan",), has('"pages":2')),
    ("failures", "stage"): CommandRow(("failures",), ("--stage", "chunk"), lacks("picky")),
    ("failures", "as_jsonl"): CommandRow(("failures",), ("--jsonl",), is_json_lines),
    ("failures", "verbose"): CommandRow(("failures",), ("-v",), has("Traceback")),
    ("retry", "stage"): CommandRow(("retry", "--json"), ("--stage", "chunk"), lacks('"picky"')),
    ("explain", "stage"): CommandRow(("explain", "docs/a.md"), ("--stage", "chunk"), lacks("doctags")),
    ("sources", "path"): CommandRow(("sources", "docs"), ("--path", "jobs.py"), has("jobs.py")),
    ("answers", "file"): CommandRow(("answers",), ("--answers", "shared.sqlite"), lacks("Read it.")),
    ("answers", "model"): CommandRow(("answers",), ("--model", "other"), lacks("Read it.")),
    ("answers", "refused"): CommandRow(("answers", "--json"), ("--refused",), has('"answers":1')),
    ("answers", "older_days"): CommandRow(("answers",), ("--older", "1"), lacks("Read it.")),
    ("answers", "orphans"): CommandRow(("answers",), ("--orphans",), has("1 answers of 2 are about files")),
    ("answers", "prompt"): CommandRow(("answers",), ("--prompt", "queries.jsonl"), has("1 questions would be asked")),
    ("answers", "remove"): CommandRow(("answers", "--refused"), ("--remove",), has("removed 1 answers; 1 stay")),
    ("answers", "as_jsonl"): CommandRow(("answers",), ("--jsonl",), is_json_lines),
    ("inspect", "duplicates"): CommandRow(("inspect",), ("--duplicates",), has("0 groups of duplicates")),
    ("inspect", "stage"): CommandRow(("inspect",), ("--stage", "chunk"), lacks("picky")),
    ("manifest", "stage"): CommandRow(("manifest",), ("--stage", "chunk"), lacks("picky")),
    ("manifest", "state"): CommandRow(("manifest",), ("--state",), has("embed:dense")),
    ("manifest", "status"): CommandRow(("manifest",), ("--status", "failure"), lacks("success")),
    ("manifest", "last_run"): CommandRow(
        ("manifest", "--stage", "picky", "--jsonl"), ("--last-run",), lambda out: len(out.splitlines()) <= 4
    ),
    ("manifest", "as_jsonl"): CommandRow(("manifest",), ("--jsonl",), is_json_lines),
    ("journal", "last"): CommandRow(("journal", ".inorder/journal/picky.journal"), ("--last", "1"), lambda out: True),
    ("", "version"): CommandRow((), ("--version",), has("inorder")),
    ("mcp", "install"): CommandRow(("mcp", "--data", "nowhere"), ("--install", "cursor"), has('"mcpServers"')),
    ("mcp", "writes"): CommandRow(
        ("mcp", "--install", "cursor", "--data", "nowhere"), ("--write",), lacks("mcpServers")
    ),
    ("mcp", "may_index"): CommandRow(("mcp", "--install", "cursor"), ("--may-index", "lamps"), has("--may-index")),
    ("", "debug"): CommandRow((), ("--debug", "search", "lamp", "--data", "nowhere"), lambda out: True),
}
JSON_ARGUMENTS = {
    "run": ("docs", *IN_THREADS),
    "doctags": ("docs", *IN_THREADS),
    "chunk": IN_THREADS,
    "embed": IN_THREADS,
    "index": ("docs", *IN_THREADS),
    "extract": (*SCHEMA, *MODEL, "--plan"),
    "search": ("lamp",),
    "symbols": ("docs/c.py",),
    "graph": ("light_lamp",),
    "eval": EVAL[1:],
    "stage": ("jobs:picky",),
    "show": ("a.md",),
    "export": EXPORT[1:],
    "explain": ("docs/a.md",),
    "forget": ("docs",),
    "journal": (".inorder/journal/picky.journal",),
}
"""What a command needs besides its options."""


def list_options() -> list[tuple[str, str]]:
    """Every option that is not an option of a run, with the command that has it."""
    group: Any = typer.main.get_command(command_group.app)
    context = group.make_context("inorder", [], resilient_parsing=True)

    def walk(command: Any, path: str) -> Iterator[tuple[str, str]]:
        is_run = any(parameter.name in ("workers", "resume") for parameter in command.params)
        shared = {*ALL, "profile", "assignments"} if is_run else {"data"}
        for parameter in command.params:
            if (
                parameter.param_type_name == "option"
                and not parameter.hidden
                and parameter.name not in shared | NOT_OURS
            ):
                yield path, parameter.name
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            child = command_group.load_command(name) if command is group else command.get_command(context, name)
            yield from walk(child, f"{path} {name}".strip())

    return list(walk(group, ""))


def make_row(command: str, option: str) -> CommandRow:
    if option == "as_json" and (command, option) not in ROWS:
        return CommandRow((*command.split(), *JSON_ARGUMENTS.get(command, ())), ("--json",), is_json)
    assert (command, option) in ROWS, f"the option {option} of `inorder {command}` has no row in this file"
    return ROWS[command, option]


@pytest.fixture(autouse=True)
def served_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends as soon as it has said where it is, and a watch after its first run."""

    def terminate(watcher: Watcher) -> None:
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(Watcher, "_wait_until_due", terminate)
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
    monkeypatch.setattr("webbrowser.open", lambda url: print_out(f"opened {url}"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two documents and a program, all stages run, and a stage of which one item has failed twice."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# Lamps\n\nThe keeper lights the lamp at dusk.\n")
    (folder / "docs" / "b.md").write_text("# Oil\n\nA lamp burns oil.\n")
    (folder / "docs" / "c.py").write_text("def light_lamp():\n    return oil()\n\n\ndef oil():\n    return 1\n")
    (folder / "jobs.py").write_text(JOBS)
    (folder / "fields.json").write_text('{"type": "object", "properties": {"oil": {"type": "string"}}}')
    (folder / "queries.jsonl").write_text('{"id": 1, "text": "keeper"}\n{"id": 2, "text": "oil"}\n')
    (folder / "qrels.tsv").write_text("1\ta\t1\n2\tb\t1\n")
    for arguments in (("run", "docs"), ("stage", "jobs:picky"), ("stage", "jobs:picky")):
        code, _, err = run_in_process((*arguments, "--quiet", *IN_THREADS), folder, clean_environment())
        assert code in (0, 3), err
    digest = sha256((folder / "docs" / "a.md").read_bytes()).hexdigest()
    answer = Answer(text="lamp", tokens_in=9, tokens_out=1, finish_reason="stop", model="m", seconds=0.1)
    with AnswerStore(str(folder / ".inorder" / "answers.sqlite")) as store:
        store.keep(Question(model="http://h/v1#m", prompt="Read it.", input_key=f"{digest}#1"), answer)
        store.keep(Question(model="http://h/v1#m", prompt="Read it.", input_key=f"{'0' * 64}#1"), answer, "it is empty")
    AnswerStore(str(folder / "shared.sqlite")).close()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("command", "option"), list_options(), ids=lambda each: each.replace(" ", "-") or "inorder")
def test_the_option_changes_what_is_printed(command: str, option: str, prepared: Path, tmp_path: Path) -> None:
    row = make_row(command, option)
    outputs = []
    for name, arguments in (("without", row.without), ("with", (*row.without, *row.option))):
        folder = tmp_path / name
        shutil.copytree(prepared, folder)
        trust_recorded(str(folder / ".inorder"), "stage", "jobs:picky")
        code, out, err = run_in_process(arguments, folder, clean_environment())
        outputs.append((code, out, err.replace(str(folder), "")))
    assert outputs[0] != outputs[1]
    assert row.seen(outputs[1][1]), outputs[1]
    assert not row.seen(outputs[0][1]) or option in ("last", "debug"), outputs[0]


def test_every_row_belongs_to_an_option_of_a_command() -> None:
    assert set(ROWS) <= set(list_options())
