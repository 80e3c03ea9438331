"""The outline of a document: its blocks in order, with consecutive list items grouped into nested lists.

A list never crosses a page: DocTags are split at page breaks, and readers lose a list that is split. Items that skip a
level become children of the nearest item above them.
"""

from collections.abc import Iterator

import msgspec

from inorder.documents.model import AnyBlock, ListItem

DEPTH_MAX = 20
"""Deeper items are written at this depth: readers of the JSON are recursive."""


class ListEntry(msgspec.Struct, gc=False):
    """A list item, and the lists nested in it."""

    item: ListItem
    lists: "list[ListNode]"


class ListNode(msgspec.Struct, gc=False):
    """One list. Its items are all ordered or all unordered."""

    depth: int
    ordered: bool
    page: int | None
    """The page of the first item that has one."""
    entries: list[ListEntry]


OutlineItem = AnyBlock | ListNode


def group_lists(blocks: list[AnyBlock]) -> Iterator[OutlineItem]:
    """The blocks, with each run of list items replaced by one or more lists."""
    run: list[ListItem] = []
    for block in blocks:
        if type(block) is ListItem:
            run.append(block)
            continue
        if run:
            yield from _nest_items(run)
            run = []
        yield block
    if run:
        yield from _nest_items(run)


def _nest_items(items: list[ListItem]) -> Iterator[ListNode]:
    """The outermost lists of a run of list items."""
    open_lists: list[ListNode] = []
    page: int | None = None
    for item in items:
        is_new_page = item.page is not None and page is not None and item.page != page
        page = page if item.page is None else item.page
        depth = item.depth if 0 <= item.depth <= DEPTH_MAX else min(max(item.depth, 0), DEPTH_MAX)
        outermost = open_lists[0] if open_lists else None
        while open_lists and (is_new_page or _ends(open_lists[-1], item, depth)):
            open_lists.pop()
        if open_lists and open_lists[-1].depth == depth:
            open_lists[-1].entries.append(ListEntry(item, []))
        else:
            new_list = ListNode(depth, item.ordered, None, [ListEntry(item, [])])
            if open_lists:
                open_lists[-1].entries[-1].lists.append(new_list)
            elif outermost is not None:
                yield outermost
            open_lists.append(new_list)
        if open_lists[0].page is None:
            open_lists[0].page = item.page
    if open_lists:
        yield open_lists[0]


def _ends(node: ListNode, item: ListItem, depth: int) -> bool:
    """Whether a list ends before an item: it is deeper, or a list of the other kind."""
    return node.depth > depth or (node.depth == depth and node.ordered != item.ordered)
