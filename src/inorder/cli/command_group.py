"""Which commands there are. Each imports what it needs when it is run: `inorder --help` stays quick."""

import os
from typing import Annotated

import typer

from inorder import __version__
from inorder.cli.app import DEBUG
from inorder.cli.commands import (
    config,
    explain_command,
    failures,
    inspect_command,
    journal,
    manifest,
    mcp_command,
    plan,
    retry_command,
    run,
    search_command,
    stage,
    verify_command,
)

app = typer.Typer(
    name="inorder",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("doctags")(run.doctags)
app.command("chunk")(run.chunk)
app.command("embed")(run.embed)
app.command("index")(run.index)
app.command("search")(search_command.search)
app.command("symbols")(search_command.symbols)
app.command("graph")(search_command.graph)
app.command("mcp")(mcp_command.mcp)
app.command("stage")(stage.stage)
app.command("plan")(plan.plan)
app.command("failures")(failures.failures)
app.command("retry")(retry_command.retry)
app.command("explain")(explain_command.explain)
app.command("verify")(verify_command.verify)
app.command("inspect")(inspect_command.inspect)
app.command("manifest")(manifest.manifest)
app.command("journal")(journal.journal)
app.add_typer(config.config, name="config")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inorder {__version__}")
        raise typer.Exit


@app.callback()
def inorder(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Compute in parallel. Commit in order. Lose nothing, repeat nothing."""
    if debug:
        os.environ[DEBUG] = "1"
