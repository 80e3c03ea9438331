"""Files: the list of them with filters, and what each step made of one."""

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any, Literal

import msgspec

from inorder.library.reader import LibraryReader
from inorder.library.states import FileStatus, FileStep, count_ids, list_statuses, read_states
from inorder.pipeline.names import CHUNK, DOCTAGS, INDEX, STEPS
from inorder.pipeline.outcome import name_type
from inorder.pipeline.remedies import describe_ocr, find_advice, suggest_help
from inorder.serve.catalog import Catalog

from .endpoint import DataParams
from .search import Facet

_FACETS_MAX = 200
_EXPECTED = {"document": (DOCTAGS, CHUNK, INDEX), "code": (INDEX,)}
"""By what a file is: the steps that every such file goes through."""
Status = Literal["", "read", "failed", "not read", "copy"]
_Name = Annotated[str, msgspec.Meta(max_length=500)]


class ListParams(DataParams, frozen=True, kw_only=True):
    """Which files to list."""

    after: Annotated[str, msgspec.Meta(max_length=4096, description="The last id of the page before.")] = ""
    k: Annotated[int, msgspec.Meta(ge=1, le=500, description="Number of files.")] = 100
    status: Status = ""
    text: Annotated[str, msgspec.Meta(max_length=500, description="A part of the id.")] = ""
    type: Annotated[_Name, msgspec.Meta(description="The type, such as `.pdf`; of a file without one, its name.")] = ""
    source: Annotated[_Name, msgspec.Meta(description="The name of the source.")] = ""


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the list."""

    total: int
    """All files that meet the conditions."""
    files: list[FileStatus]


class FileFacets(msgspec.Struct, frozen=True, kw_only=True):
    """All files by what became of them, under the names of `inorder inspect --json`, and by type and source."""

    files: int
    read: int
    copies: int
    failed: int
    not_read: int
    types: list[Facet]
    sources: list[Facet]


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """What one step has made of a file."""

    step: str
    result: Literal["made", "failed", "not reached"]
    duration_s: float = 0.0
    attempts: int = 0
    note: str = ""
    """The error."""
    warnings: list[str] = []
    facts: dict[str, Any] = {}


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file."""

    status: str
    """`read`, `failed`, `not read` or `copy`."""
    reason: str = ""
    """Why it failed or is not read."""
    copy_of: str = ""
    is_code: bool = False
    steps: list[StepView] = []
    lost: list[str] = []
    """What of it is not in DATA, or uncertain: pages without text, characters that could not be decoded, parts that
    were cut off."""
    help: str = ""
    """What would help; empty: nothing has to, or the reason says it."""


def answer_files(catalog: Catalog, params: ListParams) -> FileList:
    """List files by what became of them."""
    ending = params.type if params.type.startswith(".") or not params.type else f"/{params.type}"
    with closing(LibraryReader(catalog.get(params.data).path)) as library:
        files, total = list_statuses(
            library,
            status=params.status,
            text=params.text,
            ending=ending,
            source=params.source,
            after=params.after,
            count=params.k,
        )
    return FileList(total=total, files=files)


def answer_file_facets(catalog: Catalog, params: DataParams) -> FileFacets:
    """Count all files by what became of them, by type and by source."""
    with closing(LibraryReader(catalog.get(params.data).path)) as library:
        counts, sources = library.count_items(), library.count_by_source()
        types = count_ids(library, name_type)
    return FileFacets(
        files=sum(counts.values()),
        read=counts.get("read", 0),
        copies=counts.get("copy", 0),
        failed=counts.get("failed", 0),
        not_read=sum(count for name, count in counts.items() if name.startswith("not read")),
        types=[Facet(name, count) for name, count in types.most_common(_FACETS_MAX)],
        sources=[Facet(name, count) for name, count in sorted(sources.items())[:_FACETS_MAX]],
    )


def describe_file(data: str, item_id: str) -> FileView | None:
    """Describe what became of a file; None: it is not known."""
    with closing(LibraryReader(data)) as library:
        file, failure = library.get_file(item_id), library.find_failure(item_id)
        states = {each.step: each for each in read_states(library, item_id)}
    if file is None:
        return None
    role = file.kind.partition(":")[0]
    if file.copy_of:
        return FileView(status="copy", copy_of=file.copy_of)
    if file.reason:
        advice = find_advice(file.reason)
        return FileView(status="not read", reason=file.reason, help="" if advice == file.reason else advice)
    steps = list(_list_steps(states, _EXPECTED.get(role, ())))
    pages = states[DOCTAGS].extras if DOCTAGS in states else {}
    without_text = pages.get("pages_without_text") or 0
    lost = [f"{without_text:,} of {pages['pages']:,} pages without readable text"] if without_text else []
    help_ = describe_ocr() if without_text else ""
    return FileView(
        status="read" if failure is None else "failed",
        reason="" if failure is None else failure.message,
        is_code=role == "code",
        steps=steps,
        lost=[*lost, *(warning for step in steps for warning in step.warnings)],
        help=help_ if failure is None else suggest_help(failure.category, failure.message),
    )


def _list_steps(states: dict[str, FileStep], expected: tuple[str, ...]) -> Iterator[StepView]:
    for step in (step for step in STEPS if step in states or step in expected):
        found = states.get(step)
        if found is None:
            yield StepView(step=step, result="not reached")
            continue
        yield StepView(
            step=step,
            result="failed" if found.message else "made",
            duration_s=round(found.duration_ms / 1000, 6),
            attempts=found.attempts,
            note=found.message,
            warnings=found.warnings,
            facts={key: each for key, each in found.extras.items() if isinstance(each, str | int | float) and each},
        )
