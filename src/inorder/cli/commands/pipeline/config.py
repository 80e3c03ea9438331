"""`inorder config show`: every option, its value, and where that comes from."""

from typing import Annotated

import typer

from inorder.cli.builtin import BUILTIN, UNLESS_STAGE, default_values, describe_stage_defaults, load_builtin
from inorder.cli.builtin_options import OWN
from inorder.cli.command_group import SectionedCommand
from inorder.cli.data_dir import open_data
from inorder.cli.option_spec import Section
from inorder.cli.options import ALL
from inorder.cli.output import format_table, info, print_json, print_out
from inorder.cli.parameters import Given, JsonOption, run_options
from inorder.cli.settings import FILE, Settings, SettingsReader, Value, resolve
from inorder.cli.stage_loader import load_job, load_recorded_job

config = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def settings() -> None:
    """Show settings and where they come from."""


@config.command("show", cls=SectionedCommand)
@run_options(describe_stage_defaults)
def show(
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage",
            metavar="STAGE",
            help="For this stage: MODULE:NAME, a built-in one, or one in DATA. Default: for no stage in particular.",
            rich_help_panel=Section.INPUT,
        ),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Show every option with its value and where it comes from.

    The first of these that sets an option counts: the command line; an environment variable (INORDER_WORKERS for
    --workers); in inorder.toml of the current directory, the table [profile.NAME] of the profile chosen with --profile
    or INORDER_PROFILE, then [stage.NAME], then [default]; the stage; the default.
    """
    found, own = _resolve(given, stage)
    values = found.values | own
    if as_json:
        options = {name: {"value": value.value, "origin": value.origin} for name, value in values.items()}
        print_json({"file": found.file, "profile": found.profile, "options": options})
        return
    rows = []
    for name, value in values.items():
        may_differ = stage is None and value.origin == "default" and name != "data"
        origin = f"default{UNLESS_STAGE}" if may_differ else value.origin
        rows.append((name, ALL[name].type.format(value.value), origin))
    print_out(*format_table(rows))
    if stage is None:
        info(f"stages have defaults of their own: see `inorder config show --stage NAME` ({', '.join(BUILTIN)}, ...)")
    if found.file is None:
        info(f"no {FILE} in the current directory")


def _resolve(given: Given, stage: str | None) -> tuple[Settings, dict[str, Value]]:
    """All options of a run, and those of a built-in stage alone."""
    if stage is None:
        return resolve(given), {}
    if stage in BUILTIN:
        reader = SettingsReader(given)
        _, settings = load_builtin(stage, [], reader)
        defaults = {name: Value(value, "default") for name, value in default_values(stage).items()}
        own = {name: defaults[name] for name in OWN.get(stage, {})}
        return settings, own | reader.for_stage(stage).own_values(stage)
    if ":" in stage:
        return resolve(given, load_job(stage, []).stage), {}
    data = open_data(None, given)
    [name] = data.select_stages(stage)
    return resolve(given, load_recorded_job(data, name).stage), {}
