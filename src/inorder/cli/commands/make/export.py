"""`inorder export`: tables of DATA for other tools."""

import sys
import time
from typing import Annotated, NoReturn

import typer

from inorder.cli.option_spec import Section
from inorder.cli.option_types import InvalidValue, SizeType
from inorder.cli.output import format_table, info, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, Given, JsonOption, make_argument, make_choice, make_option
from inorder.cli.settings import SettingsReader, resolve_data
from inorder.cli.stage_runner import export_to_database
from inorder.dataset.export.manifest import FORMATS
from inorder.dataset.export.options import (
    EXTRACTED,
    SHARD_BYTES,
    WHATS,
    ExportOptions,
    ExportOutcome,
    TableExport,
    choose_format,
)
from inorder.errors import OperatorError, require
from inorder.extensions.trust import carry_trust
from inorder.library.opening import read_vectors_provider
from inorder.library.whole.copying import export_search_copy
from inorder.stage.sources import is_address
from inorder.targets.registry import is_target

_INTERVAL_S = 30.0
_TERMINAL_INTERVAL_S = 1.0
_SEARCH = "search"
"""What a copy for search alone is called."""

_To = Annotated[
    str,
    make_option(
        Section.OUTPUT,
        "DIR|ADDRESS",
        "Folder or address of an object store (s3://bucket/prefix): a new one, or that of an earlier export; or "
        "the address of a database (postgresql://user@host/database).",
        "--to",
        envvar="INORDER_TO",
    ),
]
_What = Annotated[
    str,
    make_argument(
        "[" + "|".join((*WHATS, f"{EXTRACTED}NAME", _SEARCH)) + "]",
        "What to export to a folder: documents, chunks, vectors, or all three; the tables in the documents; the fields "
        "that `inorder extract` has found; or a copy of DATA for search alone. Default: all.",
    ),
]
_Format = Annotated[
    str | None,
    make_choice(
        Section.OUTPUT,
        "--format",
        FORMATS,
        "Sharded Parquet or JSON lines, or one set of files per document (.doctags, .docling.json, .parquet; .csv and "
        ".parquet for tables). Default: parquet; files for tables in a folder.",
    ),
]
_ShardBytes = Annotated[
    str | None,
    make_option(Section.OUTPUT, "SIZE", "Shards have half to twice this size. Default: 128M.", "--shard-bytes"),
]
_Collection = Annotated[
    str | None,
    make_option(Section.OUTPUT, "NAME", "Schema, collection or table to write to. Default: inorder.", "--collection"),
]
_Hnsw = Annotated[
    bool | None,
    make_option(Section.OUTPUT, "", "Build an HNSW index over the vectors. Default: no.", "--hnsw/--no-hnsw"),
]
_Recreate = Annotated[
    bool | None,
    make_option(
        Section.OUTPUT,
        "",
        "Remove what an earlier export has written to the collection first. Default: no.",
        "--recreate/--no-recreate",
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
    """Export documents, chunks, vectors or tables of DATA for other tools, or the index to a database.

    A folder or object store gets Parquet, JSON lines or files; the same documents give the same bytes, and
    `_inorder.json` lists all files with their hashes. Fields also go to one file: --to NAME.parquet. A database equals
    the index afterwards: only documents that differ are written or removed.
    search is a copy for search alone, without documents, which `inorder search --data`
    reads, also on a read-only medium. Credentials come from the environment.

    Exit codes: 0 done, 1 the disk, the store or the server failed, 2 wrong usage or nothing to export, 5 another export
    to this place is active, 6 a result in DATA is damaged.
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
    if what == _SEARCH:
        require(format_ is None and shard_bytes is None, "a copy for search has no --format and no --shard-bytes")
        _export_search(resolve_data(data), to, as_json=as_json)
        return
    size = SHARD_BYTES if shard_bytes is None else _parse_size(shard_bytes)
    options = ExportOptions(what=what, to=to, format=format_ or choose_format(what, to), shard_bytes=size)
    from inorder.dataset.dataset import Dataset
    from inorder.dataset.export.export import export_data

    outcome = export_data(Dataset(resolve_data(data)).path, options, _Progress())
    if as_json:
        print_json(outcome)
    else:
        print_out(*_format(outcome))


def _export_search(data: str, to: str, *, as_json: bool) -> None:
    require(not is_address(to), f"a copy for search needs a folder; got {to!r}")
    export_search_copy(data, to)
    carry_trust(data, to, "dense", read_vectors_provider(data))
    if as_json:
        print_json({"to": to, "what": _SEARCH})
    else:
        print_out(f"exported to {to}")


def _export_to_database(given: Given, *, as_json: bool) -> NoReturn:
    outcome, code = export_to_database(SettingsReader(given))
    if as_json:
        print_json(outcome)
    raise typer.Exit(code)


def _parse_size(text: str) -> int:
    kind = SizeType()
    try:
        return kind.parse_value(text)
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
    outdated = [
        f"{pluralize(table.outdated, 'document')} changed since, without rows: run `inorder extract` again"
        for table in outcome.tables.values()
        if table.outdated
    ]
    removed = [f"{pluralize(outcome.removed, 'file')} removed"] if outcome.removed else []
    return [*format_table(rows), *outdated, *removed, f"exported to {outcome.to}"]
