"""The command as a whole: its help, its shell completion, and how quickly it answers."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from inorder.cli import app, command_group, commands, exit_codes
from inorder.cli.exit_codes import exit_code_of
from inorder.cli.option_spec import SECTIONS
from inorder.cli.options import ALL, EVERYDAY, SHARED
from inorder.cli.pipeline import NOT_OF_RUN, RUN_OPTIONS, STEPS
from inorder.cli.settings import resolve
from inorder.cli.step_options import OWN
from inorder.errors import BusyError, InfrastructureError, IntegrityError, InvariantViolation, OperatorError
from inorder.stage.contracts import StageOutcome
from tests.support.command_line import GUARD_S, CommandLine, clean_environment
from tests.tidy.test_import import HEAVY, modules_loaded_by

pytestmark = pytest.mark.req("CLI-1")

SOURCE = Path(__file__).parents[2] / "src"
EXTENSIONS = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("*.c")]
COMMANDS = list(commands.COMMANDS)
RUNNING = ["run", "doctags", "chunk", "embed", "index", "stage", "retry", "config show", "config diff"]


@pytest.mark.process
def test_without_arguments_there_is_help(cli: CommandLine) -> None:
    ended = cli.run()
    assert "Usage: inorder [OPTIONS] COMMAND [ARGS]..." in ended.out + ended.err


def test_help_names_every_command_in_its_group_with_one_line_each(cli: CommandLine) -> None:
    ended = cli.run("--help", COLUMNS="80")
    assert ended.code == 0
    for title, members in commands.GROUPS.items():
        lines = ended.out.partition(f"\n{title}:\n")[2].partition("\n\n")[0].splitlines()
        assert [tuple(line.split(maxsplit=1)) for line in lines] == [
            (name, commands.COMMANDS[name]) for name in members
        ]
    assert list(commands.GROUPS) == ["Make", "Find", "Look", "Mend", "Build your own"]
    assert ended.out.splitlines()[-1].startswith("  Next: ")


@pytest.mark.parametrize("command", RUNNING)
def test_every_command_that_runs_has_the_same_options_with_the_same_words(cli: CommandLine, command: str) -> None:
    shown = words_of_help(cli, *command.split())
    for option in SHARED.values():
        if option.name in EVERYDAY:
            assert option.flag in shown
            assert f"{option.help} Default: " in shown
        else:
            assert f" {option.flag} " not in shown
    assert "--json" in shown
    assert "--set KEY=VALUE" in shown


def words_of_help(cli: CommandLine, *command: str) -> str:
    """As one line; a line may have been broken after a hyphen."""
    return re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(cli.run(*command, "--help").out.split()))


@pytest.mark.parametrize("stage", list(STEPS))
def test_help_shows_the_defaults_that_config_show_shows(cli: CommandLine, stage: str) -> None:
    shown = words_of_help(cli, stage)
    actual = cli.run("config", "show", stage, "--json").json["options"]
    assert actual.keys() == set(RUN_OPTIONS) | OWN[stage].keys()
    for name, found in actual.items():
        option = ALL[name]
        text = f"{option.help} Default: {option.format_default(found['value'])}."
        assert (text in shown) == (name in EVERYDAY)
        assert found["origin"] == "default"


def test_the_help_of_a_run_names_the_stages_where_their_defaults_differ(cli: CommandLine) -> None:
    shown = words_of_help(cli, "run")
    assert "Default: 300 for doctags, chunk; 3600 for embed; 60 for index, export." in shown
    actual = cli.run("config", "show", "--json").json["options"]
    limits = {f"{step}.timeout_s" for step in STEPS}
    own = {name for options in OWN.values() for name in options}
    assert actual.keys() == (set(RUN_OPTIONS) - {"timeout_s"}) | limits | own
    for name in actual.keys() & SHARED.keys() & EVERYDAY:
        assert f"{SHARED[name].help} Default: {SHARED[name].format_default(actual[name]['value'])}." in shown


@pytest.mark.parametrize("step", ["run", *STEPS])
def test_options_without_a_meaning_for_the_pipeline_are_not_offered(cli: CommandLine, step: str) -> None:
    for name in NOT_OF_RUN:
        sources = [] if step in ("chunk", "embed") else ["docs"]
        ended = cli.run_in_process(step, *sources, "--set", f"{name}=true")
        assert ended.err == f"inorder: this command does not use {name}; omit --set {name}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_stand_in_titled_groups(cli: CommandLine, command: str) -> None:
    ended = cli.run(*(["config", "show"] if command == "config" else [command]), "--help")
    titles = [line[:-1] for line in ended.out.splitlines() if line.endswith(":") and line[:1].isalpha()]
    assert titles
    assert set(titles) <= set(SECTIONS)
    if command in RUNNING:
        assert {"Output", "Execution", "Display"} <= set(titles)


def test_the_line_of_a_command_is_short() -> None:
    assert [text for text in commands.COMMANDS.values() if len(text) >= 50 or text.endswith(".")] == []


@pytest.mark.slow
def test_every_command_explains_itself_and_each_of_its_options() -> None:
    group: Any = typer.main.get_command(command_group.app)
    assert list(group.commands) == COMMANDS
    loaded = {name: command_group.load_command(name) for name in COMMANDS}
    for command in (*loaded.values(), *loaded["config"].commands.values()):
        assert command.help
        assert [one.name for one in command.params if not one.help and not one.hidden] == [], (
            f"{command.name} does not explain these"
        )


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stgae", "no such command 'stgae'; did you mean 'stage'? See `inorder --help`"),
        ("xyz", "no such command 'xyz'; see `inorder --help`"),
        ("--vresion", "no such option: --vresion (Possible options: --version); see `inorder --help`"),
        (
            "plan --dtaa x",
            "no such option: --dtaa (Possible options: --data, --stage, --to); see `inorder plan --help`",
        ),
        ("config shwo", "no such command 'shwo'; did you mean 'show'? See `inorder config --help`"),
        ("explain", "missing argument 'PATH'; see `inorder explain --help`"),
        (
            "search x -k 0",
            "invalid value for '-k' / '--count': 0 is not in the range 1<=x<=1000; see `inorder search --help`",
        ),
        (
            "journal x --last y",
            "invalid value for '--last': 'y' is not a valid integer range; see `inorder journal --help`",
        ),
        ("inspect --data", "option '--data' requires an argument; see `inorder --help`"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_that_says_where_to_look(
    cli: CommandLine, line: str, said: str
) -> None:
    ended = cli.run_in_process(*line.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"inorder: {said}\n"


@pytest.mark.process
def test_the_package_itself_can_be_run_with_workers_too(cli: CommandLine) -> None:
    cli.sources("one", "two")
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", "stage", "jobs:count", "sources", "--policy", "cpu", "--workers", "1"],
        cwd=cli.folder,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert len(cli.rows()) == 2


def completed(cli: CommandLine, words: str) -> list[str]:
    """What a shell offers to go on with."""
    environment = {
        "_INORDER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return cli.run(**environment).out.split()


@pytest.mark.process
def test_a_shell_completes_commands_options_and_choices(cli: CommandLine) -> None:
    assert completed(cli, "inorder ver") == ["verify"]
    assert completed(cli, "inorder stage --er") == ["--error-budget"]
    assert completed(cli, "inorder stage --retry-b") == []
    assert completed(cli, "inorder run --set max_q") == ["max_queue="]
    assert completed(cli, "inorder stage --policy ") == ["io", "cpu", "gpu"]
    assert completed(cli, "inorder manifest --status s") == ["success", "skip"]
    shown = cli.run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_INORDER_COMPLETE=complete_bash" in shown.out


@pytest.mark.process
def test_help_imports_no_command_and_nothing_heavy() -> None:
    loaded = modules_loaded_by("from inorder.cli.app import run_command; run_command(['--help'])")
    assert "inorder.cli.command_group" in loaded
    assert [name for name in loaded if name.startswith("inorder.cli.commands.")] == []
    assert loaded & (HEAVY - {"typer"}) == set()


@pytest.mark.process
def test_a_worker_process_does_not_import_the_commands() -> None:
    """Where a program begins is imported once more in every process that it starts."""
    loaded = modules_loaded_by("from inorder.cli.app import run_program")
    assert "inorder.cli.app" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_version_is_shown(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    from inorder import __version__

    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert cli.run("--version").out == f"inorder {__version__}\n"
    monkeypatch.setitem(sys.modules, name, None)  # cannot be imported
    assert cli.run("--version").out == f"inorder {__version__} (without its compiled module: indexing is slower)\n"


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("raised", "code", "lines"),
    [
        (InvariantViolation("two\nlines"), 6, ["InvariantViolation: two lines", "this is a bug in inorder"]),
        (IntegrityError("damaged\r\n  at the end"), 6, ["damaged at the end"]),
        (OperatorError("wrong\x0buse"), 2, ["wrong use"]),
        (InfrastructureError("no\nmachine"), 1, ["no machine"]),
        (BusyError("in\u2028use"), 5, ["in use"]),
        (OSError(5, "broken"), 1, ["OSError: [Errno 5] broken"]),
        (KeyError("x"), 1, ["KeyError: 'x'", "run it again with `inorder --debug ...`"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_exception_is_an_exit_code_and_lines_that_begin_with_our_name(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: int, lines: list[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise raised

    monkeypatch.setattr(command_group, "invoke", fail)
    ended = cli.run("inspect")
    assert (ended.code, ended.out) == (code, "")
    said = ended.err.splitlines()
    assert [line[: len(f"inorder: {start}")] for line, start in zip(said, lines, strict=True)] == [
        f"inorder: {start}" for start in lines
    ]


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("stop_kind", "stop_signal", "failed", "code"),
    [
        (None, None, 0, 0),
        (None, None, 2, 3),
        ("cancelled", 2, 0, 130),
        ("cancelled", 15, 1, 143),
        ("cancelled", None, 0, 1),
        ("error budget", None, 2, 4),
        ("infrastructure", None, 0, 1),
    ],
)
def test_the_exit_code_says_how_a_stage_ended(
    stop_kind: str | None, stop_signal: int | None, failed: int, code: int
) -> None:
    names = ("scheduled", "skipped", "succeeded", "cancelled", "wall_ms", "queue_p50_ms", "exec_p50_ms", "exec_p95_ms")
    numbers: dict[str, Any] = dict.fromkeys((*names, "items_per_s"), 0)
    outcome = StageOutcome(
        stage="count",
        run_id="1",
        failed=failed,
        was_cancelled=stop_kind is not None,
        cancel_reason=stop_kind,
        stop_kind=stop_kind,
        stop_signal=stop_signal,
        resumed_at=None,
        **numbers,
    )
    assert exit_code_of(outcome) == code


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize("data", ["else where", "it's", "$HOME;x"])
def test_commands_in_hints_can_be_pasted(cli: CommandLine, data: str) -> None:
    resolved = resolve({"data": data})
    assert shlex.split(resolved.data_option) == ["--data", data]
    manifest = cli.folder / data / "manifests" / "count.jsonl"
    manifest.parent.mkdir(parents=True)
    row = '"doc_id":"a","status":"failure","error":{"category":"io","message":"no\\nway"}'
    manifest.write_text('{"stage":"count",' + row + "}\n")
    ended = cli.run("failures", "--data", data)
    assert ended.out == "a\n  count, io, 0 attempts: no way\n"
    hint = ended.err.partition(": ")[2]
    assert shlex.split(hint) == ["inorder", "retry", "--data", data]


@pytest.mark.req("CAN-2")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_was_started_to_ignore_a_signal_ignores_it(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    found: dict[int, Any] = {}

    def remember(arguments: object) -> int:
        found.update({each: signal.getsignal(each) for each in before})
        return 0

    monkeypatch.setattr(app, "run_command", remember)
    try:
        signal.signal(number, signal.SIG_IGN)
        with pytest.raises(SystemExit):
            app.run_program()
        assert [each for each, handler in found.items() if handler is signal.SIG_IGN] == [number]
        assert [each for each, handler in found.items() if handler is exit_codes._end] == [
            each for each in before if each != number
        ]
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
