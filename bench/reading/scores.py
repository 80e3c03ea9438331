"""Scores of a document as it was read against the document as it was written; 1 is perfect.

* `text_score`: normalised indel similarity of the text, so that order counts (NID)
* `heading_score`: tree edit similarity of the headings, nested by their levels (MHS)
* `table_score`: tree edit similarity of tables with their spans (TEDS), averaged over the tables that were written
* `count_relations`: pairs of neighbouring cells that are found, given and right (ICDAR 2013)
* `absent_share`: share of the lines of page furniture that are not in the text
* `code_score`: share of code blocks that are code blocks, line by line
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

Heading = tuple[int, str]
"""Level (the title has level 0) and text."""
RELATIONS_CELLS_MAX = 4_000


class GridCell(NamedTuple):
    """One cell of a table."""

    text: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1


Grid = list[GridCell]


class Content(NamedTuple):
    """What a document says, as it was written or as a tool read it."""

    text: str
    headings: list[Heading]
    tables: list[Grid]
    code: list[str]
    furniture: list[str]
    """Lines that a reader does not read aloud. Known only of what was written."""


def normalize(text: str) -> str:
    """The text without differences that no reader notices."""
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("\u2010", "-")
    return " ".join(text.split())


def similarity(one: str, other: str) -> float:
    """Twice the length of the longest common subsequence, divided by the sum of both lengths."""
    if not one and not other:
        return 1.0
    places: dict[str, int] = {}
    for index, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << index
    full = (1 << len(one)) - 1
    row = full
    for letter in other:
        both = row & places.get(letter, 0)
        row = (row + both | row - both) & full
    return 2 * (len(one) - row.bit_count()) / (len(one) + len(other))


def text_score(found: Content, given: Content) -> float:
    """How much of the text is there, in order."""
    return similarity(normalize(given.text), normalize(found.text))


def absent_share(found: Content, given: Content) -> float | None:
    """The share of furniture that is not in the text; None if there is none."""
    if not given.furniture:
        return None
    text = normalize(found.text)
    return sum(normalize(line) not in text for line in given.furniture) / len(given.furniture)


def code_score(found: Content, given: Content) -> float | None:
    """The share of the lines of code that are in a code block; None if there are none."""
    lines = [line for block in given.code for line in block.splitlines() if line.strip()]
    if not lines:
        return None
    kept = Counter(line.rstrip() for block in found.code for line in block.splitlines())
    return sum(kept[line.rstrip()] > 0 for line in lines) / len(lines)


class Node(NamedTuple):
    """A node of an ordered tree."""

    label: tuple[str, ...]
    text: str
    children: "list[Node]"


def heading_score(found: Content, given: Content) -> float | None:
    """How alike the headings and their levels are; None if there are none on both sides."""
    if not found.headings and not given.headings:
        return None
    return tree_similarity(_nest(found.headings), _nest(given.headings))


def _nest(headings: Iterable[Heading]) -> Node:
    """The headings as a tree. A level that is skipped makes no difference."""
    root = Node(("root",), "", [])
    path: list[tuple[int, Node]] = [(-1, root)]
    for level, text in headings:
        while path[-1][0] >= level:
            path.pop()
        node = Node(("heading",), normalize(text), [])
        path[-1][1].children.append(node)
        path.append((level, node))
    return root


def tree_similarity(one: Node, other: Node) -> float:
    """One minus the edit distance of two trees, divided by the size of the larger."""
    size = max(_count(one), _count(other)) - 1
    return 1.0 if size <= 0 else max(0.0, 1 - tree_distance(one, other, _rename_cost) / size)


def _count(node: Node) -> int:
    return 1 + sum(map(_count, node.children))


def _rename_cost(one: Node, other: Node) -> float:
    if one.label != other.label:
        return 1.0
    return 1 - similarity(one.text, other.text) if one.text or other.text else 0.0


def tree_distance(one: Node, other: Node, rename_cost: Callable[[Node, Node], float]) -> float:
    """The edit distance of Zhang and Shasha. Inserting and deleting a node costs 1."""
    nodes, firsts, roots = _postorder(one)
    others, other_firsts, other_roots = _postorder(other)
    renames = [[rename_cost(node, each) for each in others] for node in nodes]
    distances = [[0.0] * len(others) for _ in nodes]
    for root in roots:
        for other_root in other_roots:
            _fill(distances, renames, (firsts, root), (other_firsts, other_root))
    return distances[-1][-1]


def _fill(
    distances: list[list[float]],
    renames: list[list[float]],
    one: tuple[list[int], int],
    other: tuple[list[int], int],
) -> None:
    """Fill in the distances of the subtrees that end at two nodes."""
    (firsts, root), (other_firsts, other_root) = one, other
    start, other_start = firsts[root], other_firsts[other_root]
    width = other_root - other_start + 2
    forest = [[float(column) for column in range(width)]]
    for index in range(start, root + 1):
        row = [forest[-1][0] + 1]
        forest.append(row)
        for other_index in range(other_start, other_root + 1):
            column = other_index - other_start + 1
            cost = min(forest[-2][column] + 1, row[column - 1] + 1)
            if firsts[index] == start and other_firsts[other_index] == other_start:
                cost = min(cost, forest[-2][column - 1] + renames[index][other_index])
                distances[index][other_index] = cost
            else:
                before = forest[firsts[index] - start][other_firsts[other_index] - other_start]
                cost = min(cost, before + distances[index][other_index])
            row.append(cost)


def _postorder(root: Node) -> tuple[list[Node], list[int], list[int]]:
    """The nodes in postorder, the index of the first leaf below each, and the indices of the key roots."""
    nodes: list[Node] = []
    firsts: list[int] = []

    def visit(node: Node) -> int:
        leaves = [visit(child) for child in node.children]
        nodes.append(node)
        firsts.append(leaves[0] if leaves else len(nodes) - 1)
        return firsts[-1]

    visit(root)
    last = {first: index for index, first in enumerate(firsts)}
    return nodes, firsts, sorted(last.values())


def _as_tree(grid: Grid) -> Node:
    rows: dict[int, list[GridCell]] = {}
    for cell in sorted(grid, key=lambda cell: (cell.row, cell.column)):
        rows.setdefault(cell.row, []).append(cell)
    return Node(
        ("table",),
        "",
        [
            Node(("row",), "", [Node(("cell", str(c.rows), str(c.columns)), normalize(c.text), []) for c in cells])
            for cells in rows.values()
        ],
    )


def pair_tables(found: Sequence[Grid], given: Sequence[Grid]) -> list[tuple[Grid, Grid]]:
    """Each given table with the found one that shares most words with it, or an empty one. Each is used once."""
    shared = sorted(
        (
            (_shared_words(one, other), -index, -place)
            for index, one in enumerate(given)
            for place, other in enumerate(found)
        ),
        reverse=True,
    )
    partner: dict[int, int] = {}
    for words, index, place in shared:
        if words and -index not in partner and -place not in partner.values():
            partner[-index] = -place
    return [(found[partner[index]] if index in partner else [], one) for index, one in enumerate(given)]


def _shared_words(one: Grid, other: Grid) -> int:
    return (_words(one) & _words(other)).total()


def _words(grid: Grid) -> Counter[str]:
    return Counter(word for cell in grid for word in normalize(cell.text).split())


def table_score(found: Content, given: Content) -> float | None:
    """How alike the tables are; None if none was written."""
    if not given.tables:
        return None
    scores = [tree_similarity(_as_tree(one), _as_tree(other)) for one, other in pair_tables(found.tables, given.tables)]
    return sum(scores) / len(scores)


def count_relations(found: Content, given: Content) -> tuple[int, int, int]:
    """How many pairs of neighbouring cells were found, were given, and are in both."""
    pairs = pair_tables(found.tables, given.tables)
    right = sum((_relations(one) & _relations(other)).total() for one, other in pairs)
    return (
        sum(_relations(table).total() for table in found.tables),
        sum(_relations(table).total() for table in given.tables),
        right,
    )


def _relations(grid: Grid) -> Counter[tuple[str, str, str]]:
    """Pairs of cells with text that are neighbours to the right or below, with no text between them."""
    places: dict[tuple[int, int], GridCell] = {}
    for cell in grid[:RELATIONS_CELLS_MAX]:
        if _key(cell.text):
            for row in range(cell.row, cell.row + cell.rows):
                for column in range(cell.column, cell.column + cell.columns):
                    places[row, column] = cell
    pairs: set[tuple[GridCell, GridCell, str]] = set()
    for line, way in ((0, "right"), (1, "down")):
        for (place, cell), (other, neighbour) in pairwise(sorted(places.items(), key=lambda at: (at[0][line], at[0]))):
            if place[line] == other[line] and cell is not neighbour:
                pairs.add((cell, neighbour, way))
    return Counter((_key(cell.text), _key(neighbour.text), way) for cell, neighbour, way in pairs)


def _key(text: str) -> str:
    return re.sub(r"\W+", "", normalize(text).lower()) or normalize(text)
