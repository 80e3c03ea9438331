"""Which commands there are. Each imports what it needs when it is run: `inorder --help` stays quick."""

import os
from typing import Annotated

import typer

from inorder import __version__
from inorder.cli import (
    config,
    documents,
    explain,
    failures,
    inspect,
    journal,
    manifest,
    mcp,
    plan,
    retry,
    search,
    stage,
    verify,
)
from inorder.cli.app import DEBUG

app = typer.Typer(
    name="inorder",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
app.command("run")(documents.run)
app.command("doctags")(documents.doctags)
app.command("chunk")(documents.chunk)
app.command("embed")(documents.embed)
app.command("index")(documents.index)
app.command("search")(search.search)
app.command("symbols")(search.symbols)
app.command("graph")(search.graph)
app.command("mcp")(mcp.mcp)
app.command("stage")(stage.stage)
app.command("plan")(plan.plan)
app.command("failures")(failures.failures)
app.command("retry")(retry.retry)
app.command("explain")(explain.explain)
app.command("verify")(verify.verify)
app.command("inspect")(inspect.inspect)
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
