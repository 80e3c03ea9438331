"""`inorder manifest`: the rows of a manifest, filtered."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from inorder.cli.options import DataOption, JsonOption, StageOption

if TYPE_CHECKING:
    from inorder.stage.manifest.reader import ManifestLine, ManifestRow

_STATUSES = ("success", "skip", "failure", "config")


def manifest(
    stage: StageOption = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="|".join(_STATUSES),
            help="Only rows that say this; config: those that runs begin with.",
            autocompletion=lambda: list(_STATUSES),
        ),
    ] = None,
    last_run: Annotated[bool, typer.Option("--last-run", help="Only the latest run of each stage.")] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
    as_jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print the rows as they are, one JSON object a line.")
    ] = False,
) -> None:
    """Show what runs have written down: a row an item and run, in the order of the plan.

    Columns: stage, number in the plan, status, attempts, seconds, item, and the reason where there is one.
    """
    from inorder.cli.data_dir import open_data
    from inorder.cli.output import as_bytes, stream_json, stream_lines
    from inorder.errors import require
    from inorder.stage.manifest import reader as manifests

    require(status is None or status in _STATUSES, f"--status must be one of {', '.join(_STATUSES)}; got {status!r}")
    dataset = open_data(data)

    def found() -> "Iterator[tuple[ManifestLine, ManifestRow]]":
        for name in dataset.chosen(stage):
            path = dataset.places(name).manifest
            latest = manifests.find_last_run(path) if last_run else None
            for line, row in manifests.read_rows(path, 0 if latest is None else latest[0]):
                if status is None or row.status == status:
                    yield line, row

    if as_json:
        stream_json("rows", (line.raw for line, _ in found()), dict)
    else:
        stream_lines(line.raw if as_jsonl else as_bytes(_in_words(line, row)) for line, row in found())


def _in_words(line: "ManifestLine", row: "ManifestRow") -> str:
    from inorder.cli.output import in_one_line
    from inorder.stage.manifest.reader import decode_config

    config = decode_config(line) if row.is_config else None
    if config is not None:
        return f"{row.stage}  run {config.run_id} of {config.started_at}, inorder {config.version}"
    said = row.reason if row.error is None else f"{row.error.category}: {in_one_line(row.error.message)}"
    measures = f"{row.attempts}  {row.duration_s:8.3f}"
    return f"{row.stage}  {row.seq:>7}  {row.status:7}  {measures}  {row.doc_id}  {said}".rstrip()
