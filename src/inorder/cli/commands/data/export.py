"""`inorder export`: tables of DATA for other tools."""

import sys
import time
from typing import Annotated, NoReturn

import typer

from inorder.cli.builtin import EXPORT, run_builtin
from inorder.cli.commands.search.presentation import resolve_data
from inorder.cli.option_spec import Section
from inorder.cli.option_types import InvalidValue, SizeType
from inorder.cli.output import format_table, info, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, Given, JsonOption
from inorder.dataset.dataset import Dataset
from inorder.dataset.export.export import export_data
from inorder.dataset.export.manifest import FORMATS
from inorder.dataset.export.options import SHARD_BYTES, WHATS, ExportOptions, ExportOutcome, TableExport
from inorder.errors import OperatorError, require
from inorder.targets.registry import is_target

_INTERVAL_S = 30.0
_TERMINAL_INTERVAL_S = 1.0


_To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="DIR|ADDRESS",
        help="Folder or address of an object store (s3://bucket/prefix): a new one, or that of an earlier export; or "
        "the address of a database (postgresql://user@host/database).",
        rich_help_panel=Section.OUTPUT,
    ),
]
_What = Annotated[
    str,
    typer.Argument(
        metavar="[" + "|".join(WHATS) + "]",
        help="The tables to export to a folder. Default: all.",
        show_default=False,
        rich_help_panel=Section.INPUT,
    ),
]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(FORMATS),
        help="Sharded Parquet or JSON lines, or one set of files per document (.doctags, .docling.json, .parquet). "
        "Default: parquet.",
        autocompletion=lambda: list(FORMATS),
        show_default=False,
        rich_help_panel=Section.OUTPUT,
    ),
]
_ShardBytes = Annotated[
    str | None,
    typer.Option(
        "--shard-bytes",
        metavar="SIZE",
        help="Shards have half to twice this size. Default: 128M.",
        rich_help_panel=Section.OUTPUT,
    ),
]
_Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        metavar="NAME",
        help="Schema, collection or table to write to. Default: inorder.",
        rich_help_panel=Section.TARGET,
    ),
]
_Hnsw = Annotated[
    bool | None,
    typer.Option(
        "--hnsw/--no-hnsw",
        help="Build an HNSW index over the vectors. Default: no.",
        show_default=False,
        rich_help_panel=Section.TARGET,
    ),
]
_Recreate = Annotated[
    bool | None,
    typer.Option(
        "--recreate/--no-recreate",
        help="Remove what an earlier export has written to the collection first. Default: no.",
        show_default=False,
        rich_help_panel=Section.TARGET,
    ),
]


def export(
    to: _To,
    what: _What = "all",
    format_: _Format = None,
    shard_bytes: _ShardBytes = None,
    collection: _Collection = None,
    hnsw: _Hnsw = None,
    recreate: _Recreate = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export documents, chunks or vectors of DATA for other tools, or the index to a database.

    To a database: afterwards the database equals the index. Only documents that differ are written or removed, each
    exactly once, also if the export was interrupted and repeated. `inorder run SRC --to URL` does it after each run.

    To a folder or an object store:

    The same documents give the same bytes, whatever updates led there. Files that are there already with the same
    content are kept. `_inorder.json` lists all files with their hashes; it is there only if the export is complete.
    In an object store it always names a complete export; credentials come from the environment.

    Exit codes: 0 done, 1 the disk, the store or the server failed, 2 wrong usage or nothing to export, 5 another export
    to this folder or database is active, 6 a result in DATA is damaged.
    """
    own = {"collection": collection, "hnsw": hnsw, "recreate": recreate}
    given = {name: value for name, value in own.items() if value is not None}
    if is_target(to):
        require(
            format_ is None and shard_bytes is None and what == "all",
            f"a database gets all tables of the index: omit --format, --shard-bytes and {what!r}",
        )
        _export_to_database(given | {"to": to} | ({} if data is None else {"data": data}), as_json=as_json)
    for name in given:
        raise OperatorError(f"--{name} is for databases, and {to!r} is a folder or an object store")
    size = SHARD_BYTES if shard_bytes is None else _parse_size(shard_bytes)
    options = ExportOptions(what=what, to=to, format=format_ or "parquet", shard_bytes=size)
    outcome = export_data(Dataset(resolve_data(data)).path, options, _Progress())
    if as_json:
        print_json(outcome)
    else:
        print_out(*_format(outcome))


def _export_to_database(given: Given, *, as_json: bool) -> NoReturn:
    outcomes, code = run_builtin([EXPORT], [], given)
    if as_json:
        print_json(outcomes[0])
    raise typer.Exit(code)


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
