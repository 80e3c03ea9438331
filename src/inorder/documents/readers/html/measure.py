"""The boxes of a page and how much text each has, from one pass over its tree.

A box is an element that makes a block: a division, a paragraph, a list, a cell. Inline elements belong to the box
around them. Navigation, and what a browser does not show, is no box and has no text here.
"""

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from .rules import BLOCKS, HEADINGS, LISTS, PREFORMATTED, SKIPPED_TAGS, Attributes, is_excluded

_BOXES = BLOCKS | LISTS | PREFORMATTED | HEADINGS.keys()
_CONTROLS = frozenset(("input", "select", "textarea", "button"))
_SKIPPED_ROLES = frozenset(("complementary", "alert"))
_COMMAS = ",\u3001\uff0c\u060c\ufe50\ufe10\u2e41\u2e34\u2e32"
_PROSE_CHARACTERS_MIN = 60
"""Text of a box that is shorter is a label, a date, a name."""
NAME_CHARACTERS_MAX = 1000


class Box:
    """An element and what is in it. Numbers include the boxes within it."""

    __slots__ = (
        "boxes",
        "characters",
        "commas",
        "controls",
        "has_main_heading",
        "items",
        "linked",
        "links",
        "names",
        "node",
        "own",
        "own_linked",
        "paragraphs",
        "parent",
        "prose",
        "tag",
    )

    def __init__(self, node: LexborNode, tag: str, names: str, parent: "Box | None") -> None:
        self.node = node
        self.tag = tag
        self.names = names
        """Its classes and its id, separated by a line break."""
        self.parent = parent
        self.boxes: list[Box] = []
        self.characters = 0
        self.linked = 0
        """Characters that are links."""
        self.links = 0
        self.own = 0
        """Characters that are not in a box within it."""
        self.own_linked = 0
        self.prose = 0
        """Characters of texts that are long, without their links."""
        self.commas = 0
        self.paragraphs = 0
        self.items = 0
        self.controls = 0
        self.has_main_heading = tag == "h1"

    @property
    def link_share(self) -> float:
        """The share of the text that is links."""
        return self.linked / self.characters if self.characters else 0.0

    @property
    def text(self) -> str:
        """The text of the element."""
        return " ".join((self.node.text() or "").split())

    def list_around(self) -> "Iterator[Box]":
        """The boxes around this one, innermost first."""
        outer = self.parent
        while outer is not None:
            yield outer
            outer = outer.parent

    def count(self, text: str, is_link: bool) -> None:
        """Add text."""
        text = text.strip()
        if not text:
            return
        length = len(text)
        self.characters += length
        self.own += length
        if is_link:
            self.linked += length
            self.own_linked += length
        self.commas += text.count(",") if text.isascii() else sum(map(text.count, _COMMAS))

    def add_to(self, outer: "Box") -> None:
        """Add the numbers of this box, which is complete, to the one around it."""
        if self.own - self.own_linked >= _PROSE_CHARACTERS_MIN:
            self.prose += self.own - self.own_linked
        outer.characters += self.characters
        outer.linked += self.linked
        outer.links += self.links
        outer.prose += self.prose
        outer.commas += self.commas
        outer.paragraphs += self.paragraphs + (self.tag == "p")
        outer.items += self.items + (self.tag == "li")
        outer.controls += self.controls
        outer.has_main_heading = outer.has_main_heading or self.has_main_heading


class Measured:
    """The boxes of a page, and the ids (`mem_id`) of the elements that are none because they are not content."""

    def __init__(self, root: LexborNode) -> None:
        self.top = Box(root, root.tag or "", "", None)
        self.left_out: set[int] = set()
        self._read(root)

    def _read(self, root: LexborNode) -> None:
        """Visit all elements. No recursion: elements may be nested to any depth."""
        box = self.top
        is_link = False
        open_elements: list[tuple[LexborNode, Box, bool]] = []
        node = root.child
        while True:
            if node is None:
                if not open_elements:
                    return
                node, outer, is_link = open_elements.pop()
                if outer is not box:
                    box.add_to(outer)
                    box = outer
                node = node.next
                continue
            tag = node.tag or ""
            if tag == "-text":
                box.count(node.text_content or "", is_link)
            elif tag in _CONTROLS and tag != "button":
                box.controls += 1
            elif tag not in SKIPPED_TAGS:
                is_box = tag in _BOXES or "-" in tag
                attributes = node.attributes if is_box or tag == "span" else {}
                if tag == "nav" or (attributes and _is_left_out(attributes)):
                    self.left_out.add(node.mem_id)
                else:
                    open_elements.append((node, box, is_link))
                    if is_box:
                        inner = Box(node, tag, _names_of(attributes), box)
                        box.boxes.append(inner)
                        box = inner
                    elif tag == "a":
                        is_link = True
                        box.links += 1
                    elif tag == "button":
                        box.controls += 1
                    node = node.child
                    continue
            node = node.next


def _is_left_out(attributes: Attributes) -> bool:
    return is_excluded(attributes, True) or attributes.get("role") in _SKIPPED_ROLES


def _names_of(attributes: Attributes) -> str:
    names = (attributes.get("class"), attributes.get("id")) if attributes else ()
    return "\n".join([name[:NAME_CHARACTERS_MAX] for name in names if name])
