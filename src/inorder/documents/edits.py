"""How a plan with the documents in the order of their ids differs from that of the last run."""

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate, islice, pairwise, starmap

from inorder.stage.contracts import LastRun, PlanEdits, WorkItem
from inorder.stage.store.lookup import IdRange

CountIds = Callable[[Sequence[IdRange]], list[int]]
"""For each of these ranges, counts the documents of the last run."""


def edit_documents(
    last: LastRun,
    doc_ids: Iterable[str],
    present: Container[str],
    make_items: Callable[[str], Iterable[WorkItem]],
    prefixes: Sequence[str] = ("",),
    count_ids: CountIds | None = None,
) -> PlanEdits | None:
    """How the plan differs in documents that may have changed. `present` are those that are in the plan. `make_items`
    makes the items of one of them, when its turn has come: one per prefix, one after the other, whose ids are the id of
    the document after the prefix. Without `count_ids`, the ids of the last run are read from its rows. Returns None if
    the order of the items is not known."""
    wanted = sorted(doc_ids)
    size = len(prefixes)
    if count_ids is not None and _is_text(wanted):
        places: list[tuple[int, bool]] | None = [*_count_places(count_ids, wanted)]
    else:
        places = _find_places(islice(last.read_ids(), 0, None, size), wanted, prefixes[0])
    if places is None:
        return None
    numbers = array("q", [at * size for at, _ in places])
    return PlanEdits(
        items=(
            (number, item)
            for number, doc_id in zip(numbers, wanted, strict=True)
            if doc_id in present
            for item in make_items(doc_id)
        ),
        dropped={at * size + row for at, is_there in places if is_there for row in range(size)},
        gone=[f"{prefix}{doc_id}" for doc_id in wanted if doc_id not in present for prefix in prefixes],
    )


def _is_text(doc_ids: Iterable[str]) -> bool:
    """Whether all ids are valid Unicode."""
    return not any("\ud800" <= letter <= "\udfff" for letter in set("".join(doc_ids)))


def _count_places(count_ids: CountIds, wanted: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """For each wanted document, the number of the first document of the last run that does not come before it, and
    whether it is the same one. Together, every document is counted once."""
    before = count_ids([*starmap(IdRange, pairwise(["", *wanted]))])
    same = count_ids([IdRange(doc_id, f"{doc_id}\0") for doc_id in wanted])
    yield from zip(accumulate(before), map(bool, same), strict=True)


def _find_places(ids: Iterator[str], wanted: Sequence[str], prefix: str) -> list[tuple[int, bool]] | None:
    """The same, from the ids of the last run; None: they are not in the order of their ids, or have escaped bytes."""
    places: list[tuple[int, bool]] = []
    previous, count = "", 0
    for item_id in ids:
        if not item_id.startswith(prefix):
            break
        doc_id = item_id.removeprefix(prefix)
        if doc_id <= previous or "\\u" in doc_id:
            return None
        while len(places) < len(wanted) and wanted[len(places)] <= doc_id:
            places.append((count, wanted[len(places)] == doc_id))
        previous = doc_id
        count += 1
    return places + [(count, False)] * (len(wanted) - len(places))
