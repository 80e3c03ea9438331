"""`inorder watch`: keep DATA current."""

from functools import partial
from typing import Annotated, Any

import typer

from inorder.cli.option_spec import Section
from inorder.cli.options import EVERYDAY
from inorder.cli.parameters import Given, SourcesArgument, make_option, run_options
from inorder.cli.pipeline import RUN_OPTIONS, STEPS, describe_defaults
from inorder.cli.stage_runner import EXPORT
from inorder.watch.options import KEEP_RUNS, POLL_S, SETTLE_S, SETTLE_S_MAX, WatchOptions


def _make_seconds(text: str, default: float) -> Any:
    """An option with a time."""
    return make_option(Section.INPUT, "SECONDS", f"{text} Default: {default:g}.")


@run_options(
    partial(describe_defaults, [*STEPS, EXPORT]), [*STEPS, EXPORT], RUN_OPTIONS, EVERYDAY - {"force", "error_budget"}
)
def watch(
    sources: SourcesArgument,
    settle: Annotated[float, _make_seconds("Run after this time without a change.", SETTLE_S)] = SETTLE_S,
    settle_max: Annotated[float, _make_seconds("Run at the latest after this time.", SETTLE_S_MAX)] = SETTLE_S_MAX,
    poll: Annotated[float, _make_seconds("Time between listings of a remote source.", POLL_S)] = POLL_S,
    keep_runs: Annotated[
        int,
        make_option(
            Section.OUTPUT,
            "N",
            f"Keep the telemetry of so many runs. Default: {KEEP_RUNS}.",
            min=1,
        ),
    ] = KEEP_RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per event.")] = False,
    *,
    given: Given,
) -> None:
    """Keep DATA current: do what `inorder run` does, and again whenever a source changes.

    Only the files that changed are looked at. Failed files do not end the watch; a full disk, or DATA in use, is tried
    again. SIGINT and SIGTERM end it; the same command continues. Needs the extras ingest and watch.

    Exit codes: 2 wrong usage, 5 DATA is watched by another process, 6 DATA is damaged, 130 SIGINT, 143 SIGTERM.
    """
    from inorder.cli.commands.make.watch_session import run_watch

    options = WatchOptions(settle_s=settle, settle_s_max=settle_max, poll_s=poll, keep_runs=keep_runs)
    raise typer.Exit(run_watch(sources, options, given, as_json=as_json))
