"""What a run did, counted in files, with the words that every surface uses.

Every file of the sources of a run is in exactly one class: *failed*, *not read*, a *copy*, *new*, *changed* or
*unchanged*. A file that is unchanged and failed before is failed. Files that are gone are *removed*: they are no files
of the sources any more.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from inorder.code.rules import IGNORED
from inorder.models.waits import WaitReason, describe_waits
from inorder.stage.contracts import StageErrorSummary
from inorder.stage.options import suggest_wait

from .remedies import describe_ocr, find_advice, find_remedy, lacks_password

FileClass = Literal["new", "changed", "unchanged", "copy", "failed", "not read", "removed"]
_FIELDS = {"copy": "copies", "not read": "not_read"}
"""The fields of classes that are called otherwise."""
_TYPES_SHOWN = 5
_GROUPS_SHOWN = 5
"""With a last line for the rest, a run says at most six lines about files that are not read."""
_ERRORS_SHOWN = 3
_WARNINGS_SHOWN = 4
_COUNTED_ELSEWHERE = ("a page has no text layer", "a page is empty")
_STOPS = {
    "cancelled": "interrupted",
    "error budget": "stopped, too many failures",
    "budget": "stopped, a limit on tokens or money is reached",
}


class StepTotals(msgspec.Struct, kw_only=True):
    """What one step did in a run."""

    files: int = 0
    """Files that it has made a result of."""
    failed: int = 0
    duration_s: float = 0.0
    """The time of the step alone, summed up over all files. Volatile."""


class FileCounts(msgspec.Struct, kw_only=True):
    """How many files are in each class."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    copies: int = 0
    failed: int = 0
    not_read: int = 0
    removed: int = 0

    @property
    def files(self) -> int:
        """All files of the sources."""
        return self.new + self.changed + self.unchanged + self.copies + self.failed + self.not_read

    def add(self, file_class: FileClass, count: int = 1) -> None:
        """Count files of a class."""
        name = _FIELDS.get(file_class, file_class)
        setattr(self, name, getattr(self, name) + count)


class ModelTotals(msgspec.Struct, kw_only=True):
    """What a model has done in a run about parts of documents, such as pages."""

    asked: int = 0
    """Parts that it was asked about, and has answered."""
    kept: int = 0
    """Parts whose answers were there already."""
    failed: int = 0
    waiting: int = 0
    """Parts that it was not asked about yet."""
    requests: int = 0
    """With those that were sent again."""
    retried: int = 0
    """Requests that were sent again because the one before failed."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """At the prices of the user; 0 without any."""
    waited_s: dict[WaitReason, float] = msgspec.field(default_factory=dict)
    """The time during which requests waited, by reason."""


class RunOutcome(msgspec.Struct, kw_only=True):
    """The outcome of a run of the pipeline."""

    counts: FileCounts = msgspec.field(default_factory=FileCounts)
    not_read: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """By reason, and by the type of the files: how many are not read."""
    pages_without_text: int = 0
    files_without_text: int = 0
    """Files of which some page has no text."""
    ocr: bool = False
    """Whether OCR was asked for."""
    model: ModelTotals = msgspec.field(default_factory=ModelTotals)
    """What was done about pages that a model reads."""
    extracted: ModelTotals = msgspec.field(default_factory=ModelTotals)
    """What was done about parts of texts that fields are extracted from."""
    warned: dict[str, int] = msgspec.field(default_factory=dict)
    """How many files of the library were read with a warning, by kind of warning."""
    documents: int = 0
    """Documents that can be searched."""
    source_files: int = 0
    """Source files that can be searched."""
    steps: dict[str, StepTotals] = msgspec.field(default_factory=dict)
    generation: int = 0
    wall_s: float = 0.0
    run_id: str = ""
    stop_kind: str | None = None
    """`cancelled`, `error budget` or `infrastructure`; None: it ran to its end."""
    cancel_reason: str | None = None
    stop_signal: int | None = None
    adopted: int = 0
    """Results of an interrupted run that were not computed again."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What the user should know besides: a source that was recognised at another place."""
    warnings: list[str] = msgspec.field(default_factory=list)
    errors: list[StageErrorSummary] = msgspec.field(default_factory=list)
    """The first and the most frequent kinds of failure of this run, at most ten."""

    @property
    def failed(self) -> int:
        """Files of these sources that have failed, in this run or before."""
        return self.counts.failed

    def count_not_read(self, reason: str, file_type: str) -> None:
        """Count a file that is not read. One that ignore files exclude is none that users are told of."""
        if reason == IGNORED:
            return
        self.counts.add("not read")
        by_type = self.not_read.setdefault(reason, {})
        by_type[file_type] = by_type.get(file_type, 0) + 1

    def count_pages(self, without_text: int, times: int = 1) -> None:
        """Count the pages without text of a file."""
        self.pages_without_text += times * without_text
        self.files_without_text += times * bool(without_text)

    def get_step(self, step: str) -> StepTotals:
        """Return the totals of a step, to be added to."""
        return self.steps.setdefault(step, StepTotals())


def encode_outcome(outcome: RunOutcome) -> bytes:
    """Encode the outcome of a run, for the library."""
    return msgspec.json.encode(outcome)


def decode_outcome(data: bytes) -> RunOutcome | None:
    """Return the outcome that was encoded; None: there is none, or another version has written it."""
    try:
        return msgspec.json.decode(data, type=RunOutcome)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def name_type(item_id: str) -> str:
    """Return the type of a file as users know it: its extension, or its name if it has none."""
    name = item_id.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return f".{extension.lower()}" if dot and stem and len(extension) <= 10 else name[:20]


def describe_counts(counts: FileCounts) -> str:
    """Return the counts as one line, without those that are 0."""
    parts = [
        (counts.new, "new"),
        (counts.changed, "changed"),
        (counts.unchanged, "unchanged"),
        (counts.copies, "copies" if counts.copies != 1 else "copy"),
        (counts.failed, "failed"),
        (counts.not_read, "not read"),
    ]
    shown = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    line = f"{counts.files:,} file{'' if counts.files == 1 else 's'}{f': {shown}' if shown else ''}"
    return f"{line}; {counts.removed:,} removed" if counts.removed else line


def describe_not_read(
    not_read: Mapping[str, Mapping[str, int]],
    pages: int = 0,
    files: int = 0,
    *,
    ocr: bool = False,
    is_full: bool = False,
    data_option: str = "",
) -> list[str]:
    """Return a line for each sort of files that are not read, with what would help, the most frequent first. `pages`
    without text in `files` are with the images: the same helps. `ocr`: it was tried. `is_full`: nothing is summed
    up as others."""
    by_advice: dict[str, Counter[str]] = {}
    for reason, types in not_read.items():
        remedy = find_remedy(reason)
        advice = find_advice(reason)
        for file_type, count in types.items():
            by_advice.setdefault(advice, Counter())[remedy.noun or file_type] += count
    nouns = {remedy.noun for remedy in map(find_remedy, not_read)}
    groups = [
        (counts.total(), advice, _list_types(counts, nouns, is_full=is_full))
        for advice, counts in by_advice.items()
        if advice
    ]
    if pages:
        groups = _add_pages(
            groups, f"{_count(pages, 'page')} without readable text in {_count(files, 'file')}", ocr=ocr
        )
    groups.sort(key=lambda each: (-each[0], each[1]))
    shown = len(groups) if is_full else _GROUPS_SHOWN
    lines = [f"{listed} ({advice})" for _, advice, listed in groups[:shown]]
    plain = _list_types(by_advice[""], nouns, is_full=True) if "" in by_advice else ""
    rest = sum(count for count, _, _ in groups[shown:])
    last = [*([plain] if plain else []), *([f"{_count(rest, 'other')}: inorder plan{data_option}"] if rest else [])]
    return [*lines, ", ".join(last)] if last else lines


def _add_pages(groups: list[tuple[int, str, str]], listed: str, *, ocr: bool) -> list[tuple[int, str, str]]:
    """Add pages without text to the images, or as a group of their own."""
    advice = "OCR found none" if ocr else describe_ocr()
    images = [each for each in groups if each[1] == advice]
    others = [each for each in groups if each[1] != advice]
    count = sum(each[0] for each in images)
    return [*others, (count, advice, ", ".join([*(each[2] for each in images), listed]))]


def _list_types(counts: Counter[str], nouns: Collection[str], *, is_full: bool) -> str:
    """Name the most frequent types, or nouns, with their numbers."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown = ordered if is_full or len(ordered) == _TYPES_SHOWN + 1 else ordered[:_TYPES_SHOWN]
    parts = [_count(count, name) if name in nouns else f"{count:,} {name}" for name, count in shown]
    rest = counts.total() - sum(count for _, count in shown)
    return ", ".join([*parts, *([_count(rest, "other")] if rest else [])])


def describe_searchable(documents: int, source_files: int) -> str:
    """Return how many files can be searched."""
    return f"{_count(documents, 'document')}, {_count(source_files, 'source file')}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_outcome(outcome: RunOutcome, data_option: str = "", *, is_verbose: bool = False) -> list[str]:
    """Return what a person is told at the end of a run, in lines. `data_option` is what commands in hints need to find
    DATA."""
    lines = [format_headline(outcome)]
    lines.append(f"searchable: {describe_searchable(outcome.documents, outcome.source_files)}")
    lines += [f"pages: {pages}"] if (pages := describe_model(outcome.model)) else []
    lines += [f"extracted: {parts}"] if (parts := describe_model(outcome.extracted, "answered")) else []
    lines += label_lines("not read", list_not_read(outcome, data_option))
    lines += label_lines("warnings", describe_warnings(outcome.warned, data_option))
    if is_verbose and outcome.steps:
        lines.append(f"steps: {describe_steps(outcome.steps)}")
    shown = outcome.errors[:_ERRORS_SHOWN]
    lines += [f"failed: {_describe_error(error)}" for error in shown]
    rest = outcome.failed - sum(error.count for error in shown)
    if shown and rest > 0:
        lines.append(f"failed: {rest:,} more, for other reasons or in earlier runs")
    if outcome.failed:
        lines.append(f"{outcome.failed:,} failed: inorder failures{data_option}")
    if outcome.stop_kind == "error budget":
        lines.append("next: run the same command again to resume, perhaps with a larger --error-budget")
    elif outcome.stop_kind is not None:
        lines.append(f"next: run the same command again to resume{suggest_wait(outcome.cancel_reason)}")
    elif 0 < outcome.documents + outcome.source_files <= outcome.counts.new:
        lines.append(f'next: inorder search "WORDS"{data_option}')
    return lines


def describe_model(totals: ModelTotals, what: str = "read") -> str:
    """Return what a model has done, in one line; empty: there was nothing for it."""
    parts = [
        (totals.asked, f"{what} by the model"),
        (totals.kept, "from kept answers"),
        (totals.failed, "failed"),
        (totals.waiting, "not asked yet"),
    ]
    shown = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    if not totals.requests:
        return shown
    cost = f", {totals.cost:,.2f} at your prices" if totals.cost else ""
    tokens = f"{totals.tokens_in:,} tokens in, {totals.tokens_out:,} out{cost}"
    retried = f" ({totals.retried:,} sent again)" if totals.retried else ""
    waited = f"; waited {waits}" if (waits := describe_waits(totals.waited_s)) else ""
    return f"{shown}; {_count(totals.requests, 'request')}{retried}, {tokens}{waited}"


def list_not_read(outcome: RunOutcome, data_option: str = "") -> list[str]:
    """Return what a run says of files that are not read, and of pages without text."""
    pages, files = outcome.pages_without_text, outcome.files_without_text
    return describe_not_read(outcome.not_read, pages, files, ocr=outcome.ocr, data_option=data_option)


def describe_warnings(warned: Mapping[str, int], data_option: str = "", *, is_full: bool = False) -> list[str]:
    """Return a line for each kind of warning with which files were read, the most frequent first. Pages without text
    are counted elsewhere."""
    found = sorted(
        ((count, kind) for kind, count in warned.items() if not kind.startswith(_COUNTED_ELSEWHERE)),
        key=lambda each: (-each[0], each[1]),
    )
    shown = found if is_full or len(found) == _WARNINGS_SHOWN + 1 else found[:_WARNINGS_SHOWN]
    lines = [f"{_count(count, 'file')}: {kind}" for count, kind in shown]
    rest = len(found) - len(shown)
    return [*lines, *([f"{_count(rest, 'other kind')}: inorder inspect{data_option}"] if rest else [])]


def label_lines(label: str, lines: Sequence[str]) -> list[str]:
    """Return lines with a label before the first; the others are indented."""
    head = f"{label}: "
    return [f"{' ' * len(head) if number else head}{line}" for number, line in enumerate(lines)]


def describe_steps(steps: Mapping[str, StepTotals]) -> str:
    """Return what each step did, in one line."""
    return "; ".join(
        f"{name} {_count(totals.files, 'file')}{f', {totals.failed:,} failed' if totals.failed else ''}, "
        f"{totals.duration_s:.1f} s"
        for name, totals in steps.items()
    )


def _describe_error(error: StageErrorSummary) -> str:
    """Return one kind of failure, with what helps if that is a password."""
    message = " ".join(error.message.split())
    more = f" [and {error.count - 1:,} more like it]" if error.count > 1 else ""
    advice = "; add --password-file FILE" if lacks_password(message) and "--password-file" not in message else ""
    return f"{error.item_id} ({error.category}): {message}{more}{advice}"


def describe_end(outcome: RunOutcome | None) -> str:
    """Return how a run that does not go on has ended."""
    stop = None if outcome is None else outcome.stop_kind
    return "ended" if stop is None else _STOPS.get(stop, "stopped, the machine or a server failed")


def format_headline(outcome: RunOutcome) -> str:
    """Return the counts of a run in one line, and why it was stopped, if it was."""
    counts = describe_counts(outcome.counts)
    if outcome.stop_kind is None:
        return f"{counts}   in {outcome.wall_s:.1f} s"
    why = describe_end(outcome)
    reason = "" if outcome.stop_kind == "error budget" else f": {outcome.cancel_reason}"
    return f"{why} after {outcome.wall_s:.1f} s{reason}   ({counts})"
