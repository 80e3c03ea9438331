"""The options of a Ray cluster, from every place that options come from. No Ray is needed for that."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from inorder.cli.options import SHARED
from inorder.cli.settings import resolve
from inorder.engines.ray.options import RayOptions
from inorder.errors import OperatorError
from inorder.extensions.trust import trust_file
from tests.support.command_line import CommandLine, stage_with

pytestmark = [pytest.mark.req("CLI-2"), pytest.mark.usefixtures("here")]

GIVEN = {
    "engine": "ray",
    "ray_address": "head:6379",
    "ray_cpus": "2",
    "ray_gpus": "0.5",
    "ray_resources": "disk=1, licence=0.25",
    "ray_files": "send",
    "ray_send_bytes_max": "8M",
}
MEANT = RayOptions(
    address="head:6379",
    cpus=2.0,
    gpus=0.5,
    resources={"disk": 1.0, "licence": 0.25},
    files="send",
    send_bytes_max=8 * 2**20,
)
AS_TABLE = """
[default]
engine = "ray"
ray_address = "head:6379"
ray_cpus = 2
ray_gpus = 0.5
ray_files = "send"
ray_send_bytes_max = 8388608

[default.ray_resources]
disk = 1
licence = 0.25
"""


def write_trusted(folder: Path, text: str) -> None:
    """Write a file of settings, to which the user has agreed: an address of a cluster needs that."""
    path = folder / "inorder.toml"
    path.write_text(text)
    trust_file(str(path), path.read_bytes())


def test_the_command_line_the_environment_and_the_file_can_say_the_same(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_meant(given: dict[str, str]) -> bool:
        options = resolve(given).to_options()
        return (options.engine, options.ray) == ("ray", MEANT)

    assert is_meant(GIVEN)
    assert not is_meant({})
    write_trusted(here, AS_TABLE)
    assert is_meant({})
    write_trusted(here, "[default]\n" + "".join(f"{name} = '{said}'\n" for name, said in GIVEN.items()))
    assert is_meant({})
    (here / "inorder.toml").unlink()
    for name, said in GIVEN.items():
        monkeypatch.setenv(f"INORDER_{name.upper()}", said)
    assert is_meant({})


def test_each_option_comes_from_the_first_place_that_says_something(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trusted(here, f"{AS_TABLE}\n[stage.count]\nray_cpus = 3\n")
    monkeypatch.setenv("INORDER_RAY_GPUS", "1")
    stage = stage_with(ray=RayOptions(cpus=9, start_timeout_s=7.0))
    settings = resolve({"ray_files": "shared", "ray_resources": "none"}, stage)
    assert settings.values["ray_files"][:2] == ("shared", "command line")
    assert settings.values["ray_gpus"][:2] == (1.0, "environment INORDER_RAY_GPUS")
    assert settings.values["ray_cpus"][:2] == (3.0, "inorder.toml [stage.count]")
    assert settings.values["ray_address"][:2] == ("head:6379", "inorder.toml [default]")
    options = settings.to_options().ray
    assert (options.files, options.gpus, options.cpus, options.resources) == ("shared", 1.0, 3.0, {})
    assert options.start_timeout_s == 7.0, "what has no option is the stage's to say"


def test_what_a_stage_says_of_a_cluster_holds_where_nobody_else_does() -> None:
    settings = resolve({"ray_gpus": "1"}, stage_with(engine="ray", ray=MEANT))
    assert settings.values["ray_cpus"][:2] == (2.0, "the stage")
    assert settings.to_options().ray == RayOptions(**{**as_dict(MEANT), "gpus": 1.0})


def as_dict(options: RayOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__struct_fields__}


def test_a_word_takes_back_what_a_stage_says_of_a_cluster() -> None:
    options = resolve({"ray_address": "none", "ray_resources": "none"}, stage_with(ray=MEANT)).to_options().ray
    assert (options.address, options.resources) == (None, {})


@pytest.mark.parametrize("given", [{}, GIVEN, {"ray_resources": "disk=1234567"}], ids=["default", "all", "many"])
def test_what_is_shown_can_be_given_again(given: dict[str, str]) -> None:
    settings = resolve(given)
    shown = {name: SHARED[name].type.format(settings.values[name].value) for name in SHARED if name in GIVEN}
    assert all(shown.values())
    assert resolve(shown).to_options() == settings.to_options()


def test_config_show_shows_numbers_by_name_as_they_are_given(cli: CommandLine) -> None:
    cli.write("inorder.toml", AS_TABLE)
    ended = cli.run("config", "show", "--set", "ray_address=none")
    shown = {line.split()[0]: line.split(maxsplit=2)[1:] for line in ended.out.splitlines()}
    assert shown["engine"] == ["ray", "inorder.toml [default]"]
    assert shown["ray_address"] == ["none", "command line"]
    assert shown["ray_resources"] == ["disk=1,licence=0.25", "inorder.toml [default]"]
    assert shown["ray_send_bytes_max"] == ["8M", "inorder.toml [default]"]
    as_json = cli.run("config", "show", "--json").json["options"]
    assert as_json["ray_resources"]["value"] == {"disk": 1.0, "licence": 0.25}


@pytest.mark.parametrize(
    "value", ["{ disk = true }", "{ disk = 'much' }", "{ disk = {} }", "['disk']", "3", "{ '' = 1 }", "{ disk = -1 }"]
)
def test_a_table_that_is_not_one_of_numbers_is_refused(here: Path, value: str) -> None:
    (here / "inorder.toml").write_text(f"[default]\nray_resources = {value}\n")
    with pytest.raises(OperatorError, match=r"inorder.toml: ray_resources in \[default\] must be names with numbers"):
        resolve({})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ray_address": "ray://head:10001"}, "address must be HOST:PORT or auto, got 'ray://head:10001'"),
        ({"ray_cpus": "0"}, "a worker must need at least one resource"),
        ({"ray_gpus": "1.5"}, "gpus per worker must be whole or at most 1"),
        ({"ray_resources": "GPU=1"}, "invalid resource name 'GPU'"),
        ({"engine": "ray", "adaptive": True}, "adaptive needs workers=N on a cluster"),
    ],
)
def test_values_that_cannot_be_together_are_refused_before_anything_is_done(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OperatorError) as caught:
        resolve(given).to_options()
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.process
@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="for where Ray is not installed")
@pytest.mark.req("CLI-3")
def test_where_ray_is_missing_one_line_says_how_to_get_it_and_nothing_is_lost(cli: CommandLine) -> None:
    cli.sources("one", "two words")
    ended = cli.stage("count", "--engine", "ray")
    assert ended == (2, "", "inorder: Ray is not installed; install it with: pip install 'inorder[ray]'\n")
    assert cli.stage("count").code == 0
    assert [row["status"] for row in cli.rows()] == ["success", "success"]


@pytest.mark.process
def test_the_row_of_a_run_says_which_engine_it_was_and_how_a_cluster_was_to_be_used(cli: CommandLine) -> None:
    cli.sources("one")
    assert cli.stage("count", "--set", "ray_cpus=2", "--set", "ray_resources=disk=1").code == 0
    options = cli.lines()[0]["options"]
    assert options["engine"] == "local"
    assert options["ray"] == json.loads(json.dumps(as_dict(RayOptions(cpus=2.0, resources={"disk": 1.0}))))
