"""`inorder export`: tables of DATA for other tools."""

import sys
import time
from typing import Annotated

import typer

from inorder.cli.commands.search.presentation import resolve_data
from inorder.cli.option_spec import Section
from inorder.cli.option_types import InvalidValue, SizeType
from inorder.cli.output import format_table, info, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption
from inorder.dataset.dataset import Dataset
from inorder.dataset.export.export import export_data
from inorder.dataset.export.manifest import FORMATS
from inorder.dataset.export.options import SHARD_BYTES, WHATS, ExportOptions, ExportOutcome, TableExport
from inorder.errors import OperatorError

_INTERVAL_S = 30.0
_TERMINAL_INTERVAL_S = 1.0


def export(
    what: Annotated[
        str,
        typer.Argument(metavar="|".join(WHATS), help="The tables to export.", rich_help_panel=Section.INPUT),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="DIR|ADDRESS",
            help="Folder or address of an object store (s3://bucket/prefix): a new one, or that of an earlier export.",
            rich_help_panel=Section.OUTPUT,
        ),
    ],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="Sharded Parquet or JSON lines, or one set of files per document. Default: parquet.",
            autocompletion=lambda: list(FORMATS),
            show_default=False,
            rich_help_panel=Section.OUTPUT,
        ),
    ] = "parquet",
    shard_bytes: Annotated[
        str | None,
        typer.Option(
            "--shard-bytes",
            metavar="SIZE",
            help="Shards have half to twice this size. Default: 128M.",
            rich_help_panel=Section.OUTPUT,
        ),
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export documents, chunks or vectors of DATA for other tools.

    The same documents give the same bytes, whatever updates led there. Files that are there already with the same
    content are kept. `_inorder.json` lists all files with their hashes; it is there only if the export is complete.
    In an object store it always names a complete export; credentials come from the environment.

    Exit codes: 0 done, 1 the disk or the store failed, 2 wrong usage or nothing to export, 5 another export to this
    folder is active, 6 a result in DATA is damaged.
    """
    size = SHARD_BYTES if shard_bytes is None else _parse_size(shard_bytes)
    options = ExportOptions(what=what, to=to, format=format_, shard_bytes=size)
    outcome = export_data(Dataset(resolve_data(data)).path, options, _Progress())
    if as_json:
        print_json(outcome)
    else:
        print_out(*_format(outcome))


def _parse_size(text: str) -> int:
    kind = SizeType()
    try:
        return kind.parse(text) or SHARD_BYTES
    except InvalidValue:
        raise OperatorError(f"--shard-bytes must be {kind.allowed}; got {text!r}") from None


class _Progress:
    """Lines on stderr about long work: every second on a terminal, else every half minute."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()

    def __call__(self, name: str, table: TableExport) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s >= (_TERMINAL_INTERVAL_S if sys.stderr.isatty() else _INTERVAL_S):
            self._last_s = now_s
            info(f"{name}: {pluralize(table.read, 'document')} read, {table.written} written, {table.kept} kept")


def _format(outcome: ExportOutcome) -> list[str]:
    rows = [
        (
            name,
            pluralize(table.documents, "document"),
            pluralize(table.rows, "row"),
            f"{table.bytes} bytes",
            f"{table.written} written",
            f"{table.kept} kept",
        )
        for name, table in outcome.tables.items()
    ]
    removed = [f"{pluralize(outcome.removed, 'file')} removed"] if outcome.removed else []
    return [*format_table(rows), *removed, f"exported to {outcome.to}"]
