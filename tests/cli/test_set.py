"""`--set KEY=VALUE`, the keys that it knows, and flags that have left the command line."""

from pathlib import Path

import pytest

from inorder.cli.keys import list_step_keys, read_assignments
from inorder.cli.option_types import FlagType, InvalidValue
from inorder.cli.options import ALL, EVERYDAY
from inorder.cli.settings import SettingsReader, resolve
from inorder.cli.step_options import OWN
from inorder.extensions.trust import trust_file
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-2")

DEFAULTS = {"to": "duckdb:///x", "data": "there", "page_pixels": "800"}
"""A value for an option whose default cannot be written."""


def write_value(name: str) -> str:
    """A value that the option accepts, as text."""
    option = ALL[name]
    words = getattr(option.type, "words", ())
    for text in (DEFAULTS.get(name, ""), *words, "7", "true", "disk=1", "text"):
        try:
            option.type.parse(text)
        except InvalidValue:
            continue
        return text
    raise AssertionError(name)


@pytest.mark.parametrize("name", ALL)
def test_every_key_can_be_set_on_the_command_line_in_the_environment_and_in_a_profile(
    here: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text = write_value(name)
    value = ALL[name].type.parse(text)
    given = read_assignments([f"{name}={text}"], ALL)
    assert SettingsReader(given).for_stage("x").values[name][:2] == (value, "command line")
    profile = here / "inorder.toml"
    profile.write_text(f"[profile.night]\n{name} = '{text}'\n")
    trust_file(str(profile), profile.read_bytes())
    found = SettingsReader({"profile": "night"}).for_stage("x").values[name]
    assert found[:2] == (value, "inorder.toml [profile.night]")
    monkeypatch.setenv(ALL[name].variable, text)
    found = SettingsReader({"profile": "night"}).for_stage("x").values[name]
    assert found[:2] == (value, f"environment {ALL[name].variable}")


@pytest.mark.parametrize("key", list_step_keys(OWN))
def test_a_step_can_have_a_value_of_its_own(here: Path, key: str) -> None:
    step, _, name = key.partition(".")
    text = write_value(name)
    reader = SettingsReader(read_assignments([f"{key}={text}"], list_step_keys(OWN)))
    assert reader.for_stage(step).values[name].value == ALL[name].type.parse(text)
    assert name not in reader.for_stage("another").values


def test_a_value_for_one_step_counts_more_than_one_for_all(here: Path) -> None:
    reader = SettingsReader({"timeout_s": "5", "chunk.timeout_s": "7"})
    assert reader.for_stage("chunk").values["timeout_s"].value == 7
    assert reader.for_stage("embed").values["timeout_s"].value == 5


def test_the_last_value_of_a_key_counts_and_a_value_may_have_an_equals_sign(here: Path) -> None:
    given = read_assignments(["workers=2", "ray_resources=disk=1,tape=2", "workers=3"], ALL)
    values = resolve(given).values
    assert (values["workers"].value, values["ray_resources"].value) == (3, {"disk": 1, "tape": 2})


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--set nope=1", "--set has no key 'nope'; `inorder config keys` lists all"),
        ("--set max_queu=1", "--set has no key 'max_queu'; did you mean max_queue? `inorder config keys` lists all"),
        (
            "--set max-queue=1",
            "--set has no key 'max-queue'; did you mean max_queue? `inorder config keys` lists all",
        ),
        (
            "--set chnk.timeout_s=1",
            "--set has no key 'chnk.timeout_s'; did you mean chunk.timeout_s or timeout_s or index.timeout_s? "
            "`inorder config keys` lists all",
        ),
        ("--set workers=abc", "--set workers must be a whole number from 1 to 1024, or auto; got 'abc'"),
        ("--set workers=", "--set workers must be a whole number from 1 to 1024, or auto; got ''"),
        ("--set =", "--set takes KEY=VALUE, as in --set workers=4; got '='"),
        ("--set workers", "--set takes KEY=VALUE, as in --set workers=4; got 'workers'"),
        ("--workers 3 --set workers=3", "--workers and --set workers set the same option; give one of them"),
        ("--set chunk.workers=3", "--set has no key 'chunk.workers'; "),
    ],
)
def test_a_mistake_is_one_line(cli: CommandLine, line: str, said: str) -> None:
    ended = cli.run_in_process("run", "docs", *line.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"inorder: {said}")
    assert ended.err.count("\n") == 1
    assert not cli.data.exists()


def test_a_step_alone_refuses_what_it_does_not_use(cli: CommandLine) -> None:
    ended = cli.run_in_process("chunk", "--set", "dense=none")
    assert ended == (2, "", "inorder: this command does not use dense; omit --set dense\n")
    assert cli.run("config", "show", "chunk", "--set", "dense=none").code == 0


@pytest.mark.parametrize("name", [name for name in ALL if name not in EVERYDAY])
def test_a_flag_that_has_left_still_works_and_is_named_with_its_new_spelling(cli: CommandLine, name: str) -> None:
    option, text = ALL[name], write_value(name)
    is_switch = isinstance(option.type, FlagType)
    shown = "true" if is_switch else text
    given = [option.flag] if is_switch else [option.flag, text]
    step = "jobs:count" if name in ("fingerprinting", "i_know_what_im_doing") else "run"
    ended = cli.run("config", "show", step, *given, "--json")
    assert ended.json["options"][name]["value"] == option.type.parse(shown)
    assert ended.err == f"inorder: warning: {option.flag} will be gone in version 0.4.0; write --set {name}={shown}\n"


def test_several_flags_that_have_left_are_one_warning(cli: CommandLine) -> None:
    ended = cli.run("config", "diff", "--no-telemetry", "--windows-entries=3", "--metrics-file", "a b")
    assert ended.err == (
        "inorder: warning: --no-telemetry, --metrics-file, --windows-entries will be gone in version 0.4.0; "
        "write --set telemetry=false --set 'metrics_file=a b' --set windows_entries=3\n"
    )
    assert [line.split()[0] for line in ended.out.splitlines()] == ["telemetry", "metrics_file", "windows_entries"]
    ended = cli.run("config", "show", "--stage", "chunk", "--json")
    assert ended.err == "inorder: warning: --stage will be gone in version 0.4.0; write inorder config show chunk\n"
    assert "tokens_max" in ended.json["options"]


def test_every_key_is_listed_with_its_meaning_unit_default_and_bounds(cli: CommandLine) -> None:
    found = {each["key"]: each for each in cli.run("config", "keys", "--json").json["keys"]}
    assert found.keys() == ALL.keys() | {f"{step}.timeout_s" for step in OWN}
    assert [key for key, each in found.items() if not (each["meaning"] and each["default"] and each["values"])] == []
    queue = found["max_queue"]
    assert (queue["unit"], queue["default"], queue["flag"]) == ("items", "1024", None)
    assert queue["values"] == "a whole number from 1 to 1048576"
    assert found["policy"]["default"] == "cpu; io for a stage of your own"
    assert found["embed.timeout_s"]["default"] == "3600"
    assert (found["tokens_max"]["steps"], found["tokens_max"]["flag"]) == (["chunk"], "--tokens-max")
    numbers = [each for each in found.values() if "number" in each["values"] or "size" in each["values"]]
    assert [each["key"] for each in numbers if not each["unit"] and each["key"] != "ray_resources"] == []


def test_keys_are_filtered_by_name_and_meaning(cli: CommandLine) -> None:
    assert cli.run("config", "keys", "queue").out.splitlines() == [
        "max_queue = 1024",
        "    Items read from the plan ahead of the workers; on Ray, at least eight per",
        "    worker.",
        "    items: a whole number from 1 to 1048576",
    ]
    found = cli.run("config", "keys", "HEARTBEAT", "--json").json["keys"]
    assert [each["key"] for each in found] == ["lease_s"]
    ended = cli.run("config", "keys", "qeue")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("inorder: no key has 'qeue' in its name or meaning; ")
