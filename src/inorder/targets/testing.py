"""The rules that every target of a plug-in must keep, as checks that authors can run on theirs.

Each rule takes the plug-in, and a function that returns the address of a place by its name. A place is empty when it is
first used. The rule raises `BrokenRule` if the target breaks it.

    @pytest.mark.parametrize("rule", TARGET_RULES, ids=lambda rule: rule.__name__)
    def test_my_target(rule, tmp_path):
        rule(my_target, lambda place: f"mine://{tmp_path}/{place}")
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from inorder.sinks.base import Position
from inorder.sinks.testing import expect

from .base import (
    ExportedChunk,
    ExportedDocument,
    ListedDocument,
    Target,
    TargetChanges,
    TargetLayout,
    TargetOptions,
    encode_document,
)

Places = Callable[[str], str]
_LAYOUT = TargetLayout(dimensions=2, provider="none")
_IDS = ("b.md", "a/z.md", "a.md", "Z.md", "é.md", "\U0001f56f.md", "a/b c.md")
_START, _LATER = Position(7, 70, 700), Position(9, 90, 900)


def begins_empty(plugin: Any, places: Places) -> None:
    """A new place holds nothing."""
    with _open(plugin, places("empty")) as target:
        expect(isinstance(target.name, str) and bool(target.name), "name must be a text that is not empty")
        _expect_content(target, [], Position())


def lists_what_was_written(plugin: Any, places: Places) -> None:
    """Documents are listed with their hashes, page by page, in the order of the code points of their ids."""
    with _open(plugin, places("listed")) as target:
        _write(plugin, target, _IDS, "1")
        _expect_content(target, [ListedDocument(each, f"1 {each}") for each in sorted(_IDS)], _START)


def replaces_and_removes(plugin: Any, places: Places) -> None:
    """A document that is written again is there once, and one that is removed is gone."""
    with _open(plugin, places("replaced")) as target:
        _write(plugin, target, _IDS, "1")
        for _ in range(2):  # a write may be repeated after a crash
            _write(plugin, target, ["a.md", "new.md"], "2", removed=["b.md", "never there.md"], position=_LATER)
        listed = {each: f"1 {each}" for each in _IDS if each != "b.md"} | {"a.md": "2 a.md", "new.md": "2 new.md"}
        _expect_content(target, [ListedDocument(*each) for each in sorted(listed.items())], _LATER)


def keeps_it_when_it_is_opened_again(plugin: Any, places: Places) -> None:
    """What was written is there after the target was closed, with the position, which may be lower than before."""
    with _open(plugin, places("kept")) as target:
        _write(plugin, target, _IDS[:2], "1", position=_LATER)
        _write(plugin, target, [], "", removed=[_IDS[0]], position=_START)
        target.sync()
        target.complete()
    with _open(plugin, places("kept")) as target:
        _expect_content(target, [ListedDocument(_IDS[1], f"1 {_IDS[1]}")], _START)


def can_be_cleared(plugin: Any, places: Places) -> None:
    """After `clear`, and after `recreate`, it holds nothing."""
    with _open(plugin, places("cleared")) as target:
        _write(plugin, target, _IDS, "1")
        target.clear()
        _expect_content(target, [], Position())
        _write(plugin, target, _IDS, "1")
    with _open(plugin, places("cleared"), recreate=True) as target:
        _expect_content(target, [], Position())


def can_be_closed_twice(plugin: Any, places: Places) -> None:
    """To close it again does nothing."""
    with _open(plugin, places("closed")) as target:
        target.close()


TARGET_RULES = (
    begins_empty,
    lists_what_was_written,
    replaces_and_removes,
    keeps_it_when_it_is_opened_again,
    can_be_cleared,
    can_be_closed_twice,
)


@contextmanager
def _open(plugin: Any, address: str, *, recreate: bool = False) -> Iterator[Target]:
    target: Target = plugin.open_target(address, TargetOptions(recreate=recreate))
    try:
        target.open(_LAYOUT)
        yield target
    finally:
        target.close()


def _write(
    plugin: Any,
    target: Target,
    ids: Sequence[str],
    version: str,
    *,
    removed: Sequence[str] = (),
    position: Position = _START,
) -> None:
    encode = getattr(plugin, "encode", encode_document)
    written = [encode(_make_document(each, f"{version} {each}")) for each in ids]
    target.write(TargetChanges(written, ids, removed), position)


def _make_document(doc_id: str, content_hash: str) -> ExportedDocument:
    """Return a document of two chunks: an odd one, and one that is long."""
    chunks = [
        ExportedChunk(
            number, f"{content_hash} {number}", "section", "", "", "", 0, 1, [1], text, struct.pack("<2f", 0, 1)
        )
        for number, text in enumerate(['it\'s "50 %" \\ of $1\n\t\U0001f56f', "word " * 2000])
    ]
    return ExportedDocument(doc_id, content_hash, "document", "en", 0, chunks)


def _expect_content(target: Target, documents: list[ListedDocument], position: Position) -> None:
    """Raise `BrokenRule` unless the target lists these documents, in pages, and has this position."""
    found: list[ListedDocument] = []
    while page := target.list_documents(found[-1].doc_id if found else "", 2):
        expect(len(page) <= 2, "list_documents must return no more documents than it was asked for")
        found += [ListedDocument(*each) for each in page]
        expect(len(found) <= len(documents), f"list_documents must return {documents}, got {found}")
    expect(found == documents, f"list_documents must return {documents}, got {found}")
    expect(target.read_position() == position, f"read_position must return {position}, got {target.read_position()}")
