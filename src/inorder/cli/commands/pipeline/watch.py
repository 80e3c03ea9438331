"""`inorder watch`: keep DATA current."""

from functools import partial
from typing import Annotated, Any

import typer

from inorder.cli.option_spec import Section
from inorder.cli.parameters import Given, SourcesArgument, make_option, run_options
from inorder.cli.pipeline import RUN_OPTIONS, STEPS, describe_defaults
from inorder.cli.stage_runner import EXPORT
from inorder.cli.watching import run_watch
from inorder.watch.options import KEEP_RUNS, POLL_S, SETTLE_S, SETTLE_S_MAX, WatchOptions


def _make_seconds(text: str, default: float) -> Any:
    """An option with a time."""
    return make_option(Section.INPUT, "SECONDS", f"{text} Default: {default:g}.")


@run_options(partial(describe_defaults, [*STEPS, EXPORT]), [*STEPS, EXPORT], RUN_OPTIONS)
def watch(
    sources: SourcesArgument,
    settle: Annotated[float, _make_seconds("Run when no source has changed for this time.", SETTLE_S)] = SETTLE_S,
    settle_max: Annotated[
        float, _make_seconds("Run at the latest this long after the first change.", SETTLE_S_MAX)
    ] = SETTLE_S_MAX,
    poll: Annotated[
        float, _make_seconds("Interval between two listings of a source that sends no events.", POLL_S)
    ] = POLL_S,
    keep_runs: Annotated[
        int,
        make_option(
            Section.OUTPUT,
            "N",
            f"Keep the telemetry of this many runs, and remove what older runs of the watch have written. "
            f"Default: {KEEP_RUNS}.",
            min=1,
        ),
    ] = KEEP_RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per event on stdout.")] = False,
    *,
    given: Given,
) -> None:
    """Keep DATA current: do what `inorder run` does, and again whenever a source changes.

    Changes are gathered for a moment and processed by one run, which looks at the changed files and folders alone. New,
    changed, renamed and deleted files are followed, and changes of ignore files. Everything is compared at the start,
    from time to time, and whenever it is not certain what has changed. Failed files do not end the watch. A full disk,
    or DATA in use by another run, is retried. While a source is missing nothing is run, and its documents stay.

    SIGINT and SIGTERM end it: at once between two runs, otherwise as they end `inorder run`. Run the same command again
    to continue. Needs two extras: pip install 'inorder[ingest,watch]'.

    Exit codes: 2 wrong usage, 5 DATA is watched by another process, 6 DATA is damaged, 130 SIGINT, 143 SIGTERM.
    """
    options = WatchOptions(settle_s=settle, settle_s_max=settle_max, poll_s=poll, keep_runs=keep_runs)
    raise typer.Exit(run_watch(sources, options, given, as_json=as_json))
