"""The present state of a library, in the words and numbers of a run: `inspect`, the report and the pages show it."""

from collections.abc import Mapping
from contextlib import closing

import msgspec

from inorder.library.reader import LibraryReader
from inorder.library.rows import WARNINGS
from inorder.library.states import count_done, count_failed, count_warnings, list_facts, list_not_read

from .names import DOCTAGS, EXTRACT, STEPS
from .outcome import RunOutcome, decode_outcome, describe_not_read, describe_searchable, describe_warnings, name_type


class StepCounts(msgspec.Struct, kw_only=True):
    """What a step has done with the files that are there now."""

    done: int = 0
    failed: int = 0
    failures: dict[str, int] = {}
    """By category, the most frequent first."""


class LibraryState(msgspec.Struct, kw_only=True):
    """Which files the library has, and what became of them."""

    files: int = 0
    read: int = 0
    copies: int = 0
    failed: int = 0
    not_read: int = 0
    not_read_types: dict[str, dict[str, int]] = {}
    """By reason, and by the type of the files."""
    pages_without_text: int = 0
    files_without_text: int = 0
    ocr: bool = False
    """Whether the latest run was asked for OCR."""
    warned: dict[str, int] = {}
    """How many files were read with a warning, by kind of warning."""
    with_warnings: int = 0
    """Files that were read, with warnings."""
    documents: int = 0
    """Documents that can be searched."""
    source_files: int = 0
    generation: int = 0
    published_at: float = 0.0
    """When it was published, in seconds since 1970."""
    steps: dict[str, StepCounts] = {}
    """By step, those that have run."""
    latest: RunOutcome | None = None
    """What the latest run did; None: it has published nothing."""


def read_state(data: str) -> LibraryState:
    """Read the state of the library of DATA. Raises as `connect_library` does."""
    with closing(LibraryReader(data)) as library:
        counts, totals = count_files(library), library.read_totals().counts
        generation = library.read_generation()
        extras = [each.extras for each in list_facts(library, DOCTAGS)]
        without = [int(each.get("pages_without_text") or 0) for each in extras]
        runs = library.list_runs()
        latest = decode_outcome(runs[0].outcome) if runs else None
        types: dict[str, dict[str, int]] = {}
        for reason, item_id in list_not_read(library):
            by_type = types.setdefault(reason, {})
            by_type[name_type(item_id)] = by_type.get(name_type(item_id), 0) + 1
        return LibraryState(
            files=sum(counts.values()),
            read=counts["read"],
            copies=counts["copy"],
            failed=counts["failed"],
            not_read=counts["not read"],
            not_read_types=types,
            pages_without_text=sum(without),
            files_without_text=sum(map(bool, without)),
            warned=dict(count_warnings(library, DOCTAGS)),
            with_warnings=sum(WARNINGS in each for each in extras),
            documents=totals.get("files/document", 0),
            source_files=totals.get("files/code", 0),
            generation=generation.number,
            published_at=generation.published_at,
            steps=_count_steps(library),
            ocr=latest is not None and latest.ocr,
            latest=latest,
        )


def count_files(library: LibraryReader) -> dict[str, int]:
    """Return how many files there are by what became of them: `read`, `copy`, `failed` or `not read`."""
    found = dict.fromkeys(("read", "copy", "failed", "not read"), 0)
    for name, count in library.count_items().items():
        found[name.partition(":")[0]] += count
    return found


def _count_steps(library: LibraryReader) -> dict[str, StepCounts]:
    found = {}
    extractions = [name for name in library.list_step_names() if name.startswith(f"{EXTRACT}:")]
    for step in (*STEPS, *extractions):
        failures = count_failed(library, step)
        done = count_done(library, step)
        if done or failures:
            found[step] = StepCounts(done=done, failed=failures.total(), failures=dict(failures))
    return found


def describe_files(state: LibraryState) -> str:
    """Return the counts as one line, without those that are 0."""
    parts = [
        (state.read, "read"),
        (state.copies, "copy" if state.copies == 1 else "copies"),
        (state.failed, "failed"),
        (state.not_read, "not read"),
    ]
    shown = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    return f"{state.files:,} file{'' if state.files == 1 else 's'}{f': {shown}' if shown else ''}"


def describe_state(state: LibraryState) -> Mapping[str, list[str]]:
    """Return what a person wants to know, by subject, in lines."""
    not_read = describe_not_read(
        state.not_read_types, state.pages_without_text, state.files_without_text, ocr=state.ocr, is_full=True
    )
    return {
        "files": [describe_files(state)],
        "searchable": [describe_searchable(state.documents, state.source_files)],
        "not read": not_read,
        "warnings": describe_warnings(state.warned, is_full=True),
    }
