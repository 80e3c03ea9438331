"""The outline of a document: its blocks in order, with consecutive list items grouped into nested lists.

A list never crosses a page: DocTags are split at page breaks, and readers lose a list that is split. Items that skip a
level become children of the nearest item above them.
"""

import msgspec

from inorder.documents.model import AnyBlock, ListItem

DEPTH_MAX = 20
"""Deeper items are written at this depth: readers of the JSON are recursive."""


class ListNode(msgspec.Struct, gc=False):
    """One list. Its items are all ordered or all unordered."""

    depth: int
    ordered: bool
    page: int | None
    """The page of the first item that has one."""
    entries: "list[ListItem | ListNode]"
    """Its items, each followed by the lists that are nested in it."""


OutlineItem = AnyBlock | ListNode


def group_lists(blocks: list[AnyBlock]) -> list[OutlineItem]:
    """The blocks, with each run of list items replaced by one or more lists."""
    kinds: list[type] = [*map(type, blocks), ListItem]
    units: list[OutlineItem] = []
    end = 0
    while (begin := kinds.index(ListItem, end)) < len(blocks):
        units += blocks[end:begin]
        end = _nest_items(blocks, begin, units)
    units += blocks[end:]
    return units


def _nest_items(blocks: list[AnyBlock], begin: int, units: list[OutlineItem]) -> int:
    """Add the outermost lists of the run of list items that begins there. Returns its end."""
    open_lists: list[ListNode] = []
    page: int | None = None
    for number in range(begin, len(blocks)):
        item = blocks[number]
        if type(item) is not ListItem:
            return number
        depth, ordered = item.depth, item.ordered
        if not 0 <= depth <= DEPTH_MAX:
            depth = min(max(depth, 0), DEPTH_MAX)
        if item.page is not None:
            if page is not None and item.page != page:
                open_lists = []
            page = item.page
        while open_lists:
            last = open_lists[-1]
            if last.depth < depth:
                open_lists.append(ListNode(depth, ordered, None, [item]))
                last.entries.append(open_lists[-1])
                break
            if last.depth == depth and last.ordered == ordered:
                last.entries.append(item)
                break
            open_lists.pop()
        else:
            open_lists.append(ListNode(depth, ordered, None, [item]))
            units.append(open_lists[-1])
        if item.page is not None and open_lists[0].page is None:
            open_lists[0].page = item.page
    return len(blocks)
