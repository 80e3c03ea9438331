"""`inorder manifest`: rows of the manifests, filtered."""

from collections.abc import Iterator
from typing import Annotated

import typer

from inorder.cli.data_dir import open_data
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_text, stream_json, stream_lines, to_one_line
from inorder.cli.parameters import DataOption, JsonOption, StageOption
from inorder.errors import require
from inorder.stage.manifest.reader import ManifestLine, ManifestRow, decode_config, find_last_run, read_rows

_STATUSES = ("success", "skip", "failure", "config")


def manifest(
    stage: StageOption = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="|".join(_STATUSES),
            help="Only rows with this status. config rows mark the start of a run. Default: all.",
            autocompletion=lambda: list(_STATUSES),
            rich_help_panel=Section.INPUT,
        ),
    ] = None,
    last_run: Annotated[
        bool, typer.Option("--last-run", help="Only the latest run of each stage.", rich_help_panel=Section.INPUT)
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print the rows unchanged, one JSON object per line.")
    ] = False,
) -> None:
    """Print the rows of the manifests: one row per item and run, in the order of the plan.

    Columns: stage, number in the plan, status, attempts, seconds, item, and the reason or error, if any.
    """
    require(status is None or status in _STATUSES, f"--status must be one of {', '.join(_STATUSES)}; got {status!r}")
    directory = open_data(data)

    def find() -> Iterator[tuple[ManifestLine, ManifestRow]]:
        for name in directory.select_stages(stage):
            path = directory.layout(name).manifest
            latest = find_last_run(path) if last_run else None
            for line, row in read_rows(path, 0 if latest is None else latest[0]):
                if status is None or row.status == status:
                    yield line, row

    if as_json:
        stream_json("rows", (line.raw for line, _ in find()), dict)
    else:
        stream_lines(line.raw if as_jsonl else encode_text(_format(line, row)) for line, row in find())


def _format(line: ManifestLine, row: ManifestRow) -> str:
    config = decode_config(line) if row.is_config else None
    if config is not None:
        return f"{row.stage}  run {config.run_id} of {config.started_at}, inorder {config.version}"
    reason = row.reason if row.error is None else f"{row.error.category}: {to_one_line(row.error.message)}"
    measures = f"{row.attempts}  {row.duration_s:8.3f}"
    return f"{row.stage}  {row.seq:>7}  {row.status:7}  {measures}  {row.doc_id}  {reason}".rstrip()
