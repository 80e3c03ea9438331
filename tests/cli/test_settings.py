"""Where options come from, and which of several that say something counts."""

from pathlib import Path
from typing import Any

import pytest

from inorder.cli.options import SHARED
from inorder.cli.settings import Settings, resolve
from inorder.errors import OperatorError
from tests.support.command_line import CommandLine, stage_with

pytestmark = pytest.mark.req("CLI-2")

EVERYWHERE = """
[default]
retries = 1
max_queue = 11
timeout_s = 1.5

[stage.count]
retries = 2
max_queue = 22

[profile.fast]
retries = 3
"""


def found(settings: Settings, name: str) -> tuple[Any, str]:
    return settings.values[name].value, settings.values[name].origin


def test_the_first_place_that_says_something_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_with(retries=9, max_queue=99, timeout_s=9.0, schedule="sjf")
    assert found(resolve({}), "retries") == (0, "default")
    assert found(resolve({}, stage), "retries") == (9, "the stage")
    (here / "inorder.toml").write_text(EVERYWHERE)
    assert found(resolve({}), "retries") == (1, "inorder.toml [default]")
    assert found(resolve({}, stage), "retries") == (2, "inorder.toml [stage.count]")
    assert found(resolve({"profile": "fast"}, stage), "retries") == (3, "inorder.toml [profile.fast]")
    monkeypatch.setenv("INORDER_RETRIES", "4")
    assert found(resolve({"profile": "fast"}, stage), "retries") == (4, "environment INORDER_RETRIES")
    assert found(resolve({"profile": "fast", "retries": "5"}, stage), "retries") == (5, "command line")
    settings = resolve({"profile": "fast"}, stage)
    assert found(settings, "max_queue") == (22, "inorder.toml [stage.count]")
    assert found(settings, "timeout_s") == (1.5, "inorder.toml [default]")
    assert found(settings, "schedule") == ("sjf", "the stage")
    assert found(settings, "fsync") == ("batch", "default")


def test_a_profile_may_be_chosen_by_a_variable_and_the_command_line_is_stronger(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "inorder.toml").write_text("[profile.a]\nworkers = 1\n[profile.b]\nworkers = 2\n")
    monkeypatch.setenv("INORDER_PROFILE", "a")
    assert resolve({}).values["workers"].value == 1
    assert resolve({"profile": "b"}).values["workers"].value == 2


def test_what_is_resolved_is_what_a_run_gets(here: Path) -> None:
    stage = stage_with(policy="cpu", cancel_grace_s=7.0, buffered_bytes_max=1000)
    given = {"timeout_s": "2.5", "error_budget": "none", "memory_bytes_max": "1.5G", "resume": False, "quiet": True}
    options = resolve(given, stage).to_options()
    assert (options.policy, options.timeout_s, options.error_budget) == ("cpu", 2.5, None)
    assert (options.memory_bytes_max, options.resume, options.progress) == (3 * 2**29, False, "none")
    assert (options.cancel_grace_s, options.buffered_bytes_max) == (7.0, 1000)


def test_a_word_takes_back_what_a_stage_has_limited(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = stage_with(error_budget=3, workers=2, memory_bytes_max=2**30, progress="none")
    monkeypatch.setenv("INORDER_ERROR_BUDGET", "none")
    monkeypatch.setenv("INORDER_WORKERS", "auto")
    monkeypatch.setenv("INORDER_MEMORY_BYTES_MAX", "none")
    monkeypatch.setenv("INORDER_QUIET", "off")
    options = resolve({}, stage).to_options()
    assert (options.error_budget, options.workers, options.memory_bytes_max) == (None, None, None)
    assert options.progress == "auto"


def test_a_stage_has_no_say_in_where_data_is(here: Path) -> None:
    assert found(resolve({}, stage_with(data="elsewhere")), "data") == (".inorder", "default")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("workers", "0", "a whole number from 1 to 1024, or auto"),
        ("workers", "2.5", "a whole number from 1 to 1024, or auto"),
        ("workers", "many", "a whole number from 1 to 1024, or auto"),
        ("policy", "fast", "one of io, cpu, gpu"),
        ("schedule", "", "one of fifo, sjf"),
        ("timeout_s", "-1", "a number of seconds, 0 or more"),
        ("timeout_s", "nan", "a number of seconds, 0 or more"),
        ("timeout_s", "soon", "a number of seconds, 0 or more"),
        ("retries", "1001", "a whole number from 0 to 1000"),
        ("retries", "none", "a whole number from 0 to 1000"),
        ("error_budget", "-1", "a whole number from 0 to 1000000000000, or none"),
        ("max_queue", "0", "a whole number from 1 to 1048576"),
        ("resume", "perhaps", "true or false"),
        ("fsync", "sometimes", "one of always, batch, interval, off"),
        ("memory_bytes_max", "0", "a size such as 512M or 4G, or none"),
        ("memory_bytes_max", "4 apples", "a size such as 512M or 4G, or none"),
        ("memory_bytes_max", "9" * 400, "a size such as 512M or 4G, or none"),
        ("data", "", "a path"),
        ("engine", "cluster", "one of local, ray"),
        ("ray_address", "", "text, or none"),
        ("ray_cpus", "nan", "a number, 0 or more"),
        ("ray_gpus", "-0.5", "a number, 0 or more"),
        ("ray_gpus", "half", "a number, 0 or more"),
        ("ray_resources", "disk", "names with numbers, such as disk=1,licence=0.5, or none"),
        ("ray_resources", "=1", "names with numbers, such as disk=1,licence=0.5, or none"),
        ("ray_resources", "disk=much", "names with numbers, such as disk=1,licence=0.5, or none"),
        ("ray_files", "everywhere", "one of auto, shared, send"),
        ("ray_send_bytes_max", "0", "a size such as 512M or 4G"),
    ],
)
def test_a_bad_value_is_refused_wherever_it_stands(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    option = SHARED[name]
    with pytest.raises(OperatorError) as on_line:
        resolve({name: value})
    assert str(on_line.value) == f"{option.flag} must be {allowed}; got {value!r}"
    (here / "inorder.toml").write_text(f"[profile.unused]\n{name} = '{value}'\n")
    with pytest.raises(OperatorError) as in_file:
        resolve({})
    assert str(in_file.value) == f"inorder.toml: {name} in [profile.unused] must be {allowed}; got {value!r}"
    monkeypatch.setenv(option.variable, value)
    with pytest.raises(OperatorError) as in_environment:
        resolve({})
    assert str(in_environment.value) == f"{option.variable} must be {allowed}; got {value!r}"


@pytest.mark.parametrize("value", ["true", "1.0", "[1]", "{}", "2024-01-01"])
def test_a_value_of_another_type_in_the_file_is_refused(here: Path, value: str) -> None:
    (here / "inorder.toml").write_text(f"[default]\nretries = {value}\n")
    with pytest.raises(OperatorError, match=r"inorder.toml: retries in \[default\] must be a whole number"):
        resolve({})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("9" * 400, r"timeout_s in \[default\] must be a number of seconds"),
        ("9" * 5000, "cannot read inorder.toml: .*digits"),
        ("[" * 5000, "cannot read inorder.toml: .*recursion"),
    ],
    ids=["large", "too large", "deep"],
)
def test_a_value_that_nothing_can_hold_is_refused(here: Path, value: str, said: str) -> None:
    (here / "inorder.toml").write_text(f"[default]\ntimeout_s = {value}\n")
    with pytest.raises(OperatorError, match=said):
        resolve({})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[default]\nworker = 2\n", r"inorder.toml: unknown setting worker in \[default\]; did you mean workers\?"),
        ("[stage.count]\ndata = 'x'\n", r"inorder.toml: \[stage.count\] cannot set data, which all stages share"),
        ("[defaults]\nworkers = 2\n", r"inorder.toml: unknown table \[defaults\]; valid tables: \[default\], "),
        ("workers = 2\n", r"inorder.toml: workers is outside of any table; put it below \[default\]"),
        ("worker = 2\n", r"inorder.toml: unknown setting worker outside of any table; put settings below \[default\]"),
        ("default = 2\n", r"inorder.toml: default must be a table: \[default\]"),
        ("profile = 2\n", r"inorder.toml: profile must be a table: \[profile.NAME\]"),
        ("[profile]\nworkers = 2\n", r"inorder.toml: profile must be a table: \[profile.NAME\]"),
        ("[default\n", r"cannot read inorder.toml: .*line 1"),
    ],
)
def test_a_file_with_a_mistake_is_refused_and_the_mistake_named(here: Path, text: str, said: str) -> None:
    (here / "inorder.toml").write_text(text)
    with pytest.raises(OperatorError, match=said):
        resolve({})


def test_a_file_that_is_no_text_is_refused(here: Path) -> None:
    (here / "inorder.toml").write_bytes(b"[default]\nworkers = '\xff'\n")
    with pytest.raises(OperatorError, match=r"^cannot read inorder\.toml: the file is not UTF-8 text \(byte 21\)$"):
        resolve({})


def test_a_folder_in_place_of_the_file_is_refused(here: Path) -> None:
    (here / "inorder.toml").mkdir()
    with pytest.raises(OperatorError, match=r"^cannot read inorder\.toml: Is a directory$"):
        resolve({})


def test_a_profile_that_is_not_there_is_named_with_those_that_are(here: Path) -> None:
    with pytest.raises(OperatorError, match=r"inorder.toml: no table \[profile.fast\]; profiles: none"):
        resolve({"profile": "fast"})
    (here / "inorder.toml").write_text("[profile.slow]\n[profile.large]\n")
    with pytest.raises(OperatorError, match=r"no table \[profile.fast\]; profiles: slow, large"):
        resolve({"profile": "fast"})


def test_a_variable_that_is_no_setting_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INORDER_WORKER", "2")
    with pytest.raises(
        OperatorError, match=r"unknown setting INORDER_WORKER in the environment; did you mean workers\?"
    ):
        resolve({})


def test_config_show_says_where_each_value_comes_from(cli: CommandLine) -> None:
    cli.write("inorder.toml", "[default]\nretries = 2\n[stage.count]\nworkers = 3\n[profile.fast]\nfsync = 'off'\n")
    arguments = ["config", "show", "jobs:device", "--profile", "fast", "--timeout-s", "5"]
    ended = cli.run(*arguments, INORDER_SCHEDULE="sjf")
    assert ended.code == 0
    shown = {line.split()[0]: line.split(maxsplit=2)[1:] for line in ended.out.splitlines()}
    assert shown.keys() == SHARED.keys()
    assert shown["timeout_s"] == ["5", "command line"]
    assert shown["schedule"] == ["sjf", "environment INORDER_SCHEDULE"]
    assert shown["fsync"] == ["off", "inorder.toml [profile.fast]"]
    assert shown["workers"] == ["3", "inorder.toml [stage.count]"]
    assert shown["retries"] == ["2", "inorder.toml [default]"]
    assert shown["policy"] == ["gpu", "the stage"]
    assert shown["error_budget"] == ["none", "default"]
    assert shown["max_queue"] == ["1024", "default"]
    as_json = cli.run(*arguments, "--json", INORDER_SCHEDULE="sjf").json
    assert as_json["options"]["fsync"] == {"value": "off", "origin": "inorder.toml [profile.fast]"}
    assert (as_json["file"], as_json["profile"]) == ("inorder.toml", "fast")


def test_config_show_shows_the_settings_of_a_run_with_those_of_its_steps(cli: CommandLine) -> None:
    ended = cli.run("config", "show", "--retries", "2", "--set", "chunk.timeout_s=7")
    shown = {line.split()[0]: line.split(maxsplit=2)[1:] for line in ended.out.splitlines()}
    assert shown["data"] == [".inorder", "default"]
    assert shown["retries"] == ["2", "command line"]
    assert shown["policy"] == ["cpu", "default"]
    assert shown["chunk.timeout_s"] == ["7", "command line"]
    assert shown["embed.timeout_s"] == ["3600", "default"]
    assert cli.run("config", "show", "--json").json["options"]["policy"] == {"value": "cpu", "origin": "default"}


def test_config_diff_shows_what_is_not_as_usual_and_where_it_was_set(cli: CommandLine) -> None:
    ended = cli.run("config", "diff")
    assert (ended.code, ended.out, ended.err) == (0, "", "every setting has its default\n")
    cli.write("inorder.toml", "[default]\nretries = 2\npolicy = 'cpu'\n[stage.chunk]\ntokens_max = 100\n")
    ended = cli.run("config", "diff", "--set", "html=full", INORDER_OCR="yes")
    assert ended.out.splitlines() == [
        "html = full  (command line; default article)",
        "ocr = true  (environment INORDER_OCR; default false)",
        "tokens_max = 100  (inorder.toml [stage.chunk]; default 512)",
        "retries = 2  (inorder.toml [default]; default 0)",
    ]
    found = cli.run("config", "diff", "chunk", "--json").json["options"]
    assert found["tokens_max"] == {"value": 100, "origin": "inorder.toml [stage.chunk]", "default": 512}
    assert "policy" in cli.run("config", "diff", "jobs:device").out


@pytest.mark.process
def test_a_run_follows_the_same_places(cli: CommandLine) -> None:
    cli.sources("one", "flaky 2")
    cli.write("inorder.toml", "[default]\ndata = 'out'\n[stage.count]\nretries = 1\nretry_backoff_s = 0.01\n")
    assert cli.stage("count").code == 0
    cli.data = cli.folder / "out"
    assert cli.row("1.txt")["attempts"] == 2
    assert cli.run("failures").code == 0
    options = cli.lines()[0]["options"]
    assert (options["retries"], options["retry_backoff_s"]) == (1, 0.01)
    assert cli.run("stage", "jobs:count", "sources", INORDER_DATA="third").code == 0
    assert (cli.folder / "third" / "counts" / "1.txt").exists()


@pytest.mark.process
def test_config_show_knows_the_stages_in_data_by_name(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage("device")
    shown = cli.run("config", "show", "count", "--json").json["options"]
    assert shown["policy"] == {"value": "gpu", "origin": "the stage"}
    ended = cli.run("config", "show", "cuont")
    assert (ended.code, ended.err) == (2, "inorder: no stage 'cuont' in .inorder; stages: count\n")


@pytest.mark.process
def test_a_mistake_in_a_setting_is_one_line_and_exit_code_two(cli: CommandLine) -> None:
    cli.sources("one")
    ended = cli.stage("count", "--workers", "many")
    assert ended == (2, "", "inorder: --workers must be a whole number from 1 to 1024, or auto; got 'many'\n")
    ended = cli.run("failures", INORDER_RETRIES="-1")
    assert ended == (2, "", "inorder: INORDER_RETRIES must be a whole number from 0 to 1000; got '-1'\n")
