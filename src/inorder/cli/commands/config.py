"""`inorder config show`: every option, its value, and where that comes from."""

from typing import Annotated, Any

import typer

from inorder.cli.options import ALL, Given, JsonOption, runner_options

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@config.callback()
def settings() -> None:
    """Show the settings that hold, and where each comes from."""


@config.command("show")
@runner_options
def show_settings(
    stage: Annotated[
        str | None,
        typer.Option("--stage", metavar="STAGE", help="For this stage: MODULE:NAME, or the name of one in DATA."),
    ] = None,
    as_json: JsonOption = False,
    *,
    given: Given,
) -> None:
    """Show every option with its value and where it comes from.

    The first of these that says something counts: the command line; a variable, INORDER_WORKERS for --workers; in
    inorder.toml of the current folder the table [profile.NAME] of the profile chosen with --profile or INORDER_PROFILE,
    then [stage.NAME], then [default]; the stage's own options; the default.
    """
    from inorder.cli.data_dir import open_data
    from inorder.cli.output import show, show_json, table, tell
    from inorder.cli.settings import FILE, resolve
    from inorder.cli.stage_loader import job_of, recorded_job

    if stage is None:
        found = resolve(given)
    elif ":" in stage:
        found = resolve(given, job_of(stage, []).stage)
    else:
        dataset = open_data(None, given)
        [name] = dataset.chosen(stage)
        found = resolve(given, recorded_job(dataset, name).stage)
    values_ = found.values | found.own
    if as_json:
        values = {name: {"value": value.value, "origin": value.origin} for name, value in values_.items()}
        show_json({"file": found.file, "profile": found.profile, "options": values})
        return
    show(*table([(name, _in_words(name, value.value), value.origin) for name, value in values_.items()]))
    if found.file is None:
        tell(f"there is no {FILE} in the current folder")


def _in_words(name: str, value: Any) -> str:
    """As it could be given."""
    if value is None or value == {}:
        return str(getattr(ALL[name].kind, "none", "none"))
    if isinstance(value, dict):
        return ",".join(f"{key}={amount:.15g}" for key, amount in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
