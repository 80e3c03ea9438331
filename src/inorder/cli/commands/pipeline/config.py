"""`inorder config show`: every option, its value, and where that comes from."""

from typing import Annotated

import typer

from inorder.cli.command_group import SectionedCommand
from inorder.cli.data_dir import open_data
from inorder.cli.option_spec import Section
from inorder.cli.options import ALL
from inorder.cli.output import format_table, info, print_json, print_out
from inorder.cli.parameters import Given, JsonOption, make_option, run_options
from inorder.cli.pipeline import NOT_OF_RUN, RUN, STEPS, TIMEOUT, read_run_settings, read_step_values
from inorder.cli.settings import FILE, UNLESS_STAGE, Settings, SettingsReader, Value, describe_stage_defaults, resolve
from inorder.cli.stage_loader import load_job, load_recorded_job
from inorder.cli.stage_runner import EXPORT
from inorder.cli.step_options import OWN

config = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def settings() -> None:
    """Show settings and where they come from."""


@config.command("show", cls=SectionedCommand)
@run_options(describe_stage_defaults)
def show(
    stage: Annotated[
        str | None,
        make_option(
            Section.INPUT,
            "STAGE",
            "For this stage: MODULE:NAME, a built-in one, or one in DATA. Default: for no stage in particular.",
            "--stage",
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
    found, values = _resolve(given, stage)
    if as_json:
        options = {name: {"value": value.value, "origin": value.origin} for name, value in values.items()}
        print_json({"file": found.file, "profile": found.profile, "options": options})
        return
    rows = []
    for name, value in values.items():
        may_differ = stage is None and value.origin == "default" and name != "data"
        origin = f"default{UNLESS_STAGE}" if may_differ else value.origin
        rows.append((name, ALL[name.rpartition(".")[2]].type.format(value.value), origin))
    print_out(*format_table(rows))
    if stage is None:
        names = ", ".join((RUN, *STEPS, EXPORT))
        info(f"runs and stages have defaults of their own: see `inorder config show --stage NAME` ({names}, ...)")
    if found.file is None:
        info(f"no {FILE} in the current directory")


def _resolve(given: Given, stage: str | None) -> tuple[Settings, dict[str, Value]]:
    """The settings of a run, and the options to show."""
    if stage is None:
        found = resolve(given)
    elif stage in (RUN, *STEPS):
        return _resolve_run(SettingsReader(given), stage)
    elif stage == EXPORT:
        from inorder.targets.export import OPTIONS

        reader = SettingsReader(given)
        found = reader.for_stage(EXPORT).with_defaults(OPTIONS)
        return found, found.values | _list_own(reader, EXPORT)
    elif ":" in stage:
        found = resolve(given, load_job(stage, []).stage)
    else:
        data = open_data(None, given)
        [name] = data.select_stages(stage)
        found = resolve(given, load_recorded_job(data, name).stage)
    return found, found.values


def _resolve_run(reader: SettingsReader, stage: str) -> tuple[Settings, dict[str, Value]]:
    """The same for a run of all steps, or of one. The time limit of one of several steps is shown as `step.timeout_s`,
    as its table in the file would set it."""
    settings = read_run_settings(reader)
    values = {name: value for name, value in settings.values.items() if name not in (*NOT_OF_RUN, TIMEOUT)}
    steps = STEPS if stage == RUN else (stage,)
    for step in steps:
        own = read_step_values(reader, step)
        limit = own.pop(TIMEOUT)
        values[TIMEOUT if stage == step else f"{step}.{TIMEOUT}"] = limit
        values |= own
    return settings, values | (_list_own(reader, EXPORT) if stage == RUN else {})


def _list_own(reader: SettingsReader, stage: str) -> dict[str, Value]:
    """The options of one stage alone."""
    return {name: value for name, value in read_step_values(reader, stage).items() if name in OWN[stage]}
