"""What a model is asked about one file: units, each of which is asked, kept, repeated and given up by itself.

A unit is a page, a section, a chunk or a whole document. A run knows nothing of what is asked: it takes the units of a
file from `ModelUnits`, and comes back to the file when all of them have an answer, or a reason why not.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from inorder.models.client import Check, MakeInput
from inorder.models.question import Question
from inorder.stage.inputs import Input


class UnitFile(NamedTuple):
    """A file that a model is asked about."""

    item_id: str
    kind: str
    """Of the document."""
    sha256: bytes
    source: Input | None
    """What its bytes are read from; None: they are not read."""
    read: Callable[[str], tuple[bytes, Sequence[str]] | None]
    """Reads what a step has made of it: the content, and the texts of chunks; None: nothing."""


class ModelUnit(NamedTuple):
    """What is asked about a part of a file."""

    number: int
    """In its file, from 1."""
    question: Question
    make_input: MakeInput
    """Called if a request is sent."""
    check: Check


class ModelUnits(Protocol):
    """Knows what a model is asked about files."""

    model: str
    """The model that is asked: `URL#MODEL`."""
    noun: str
    """What a unit is called."""
    units_max: int | None
    """How many a run asks about; None: all that lack an answer."""

    def list_units(self, file: UnitFile) -> Sequence[ModelUnit]:
        """Return the units of a file about which a model is to be asked."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
