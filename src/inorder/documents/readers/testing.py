"""The rules that every reader and every step of a plug-in must keep, as checks that authors can run on theirs.

Each rule takes a function that returns a reader, and the bytes of a file that it reads; or a step, and a document. It
raises `BrokenRule` if the reader or the step breaks it.

    @pytest.mark.parametrize("rule", READER_RULES, ids=lambda rule: rule.__name__)
    def test_my_reader(rule):
        rule(MyReader, b"...")
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inorder.documents.model import Document
from inorder.errors import ReadError
from inorder.sinks.testing import expect

MakeReader = Callable[[], Any]
Step = Callable[[Document, str], Document]
_DECODER = msgspec.json.Decoder(Document)
_NAME = "sample"
_PIECES = 16


def names_its_types(make: MakeReader, sample: bytes) -> None:
    """The types are in lower case, and have no dot."""
    found = make().extensions
    expect(not isinstance(found, str) and len(found) > 0, "extensions must be a collection of at least one type")
    for each in found:
        expect(
            isinstance(each, str) and bool(each) and each == each.lower() and "." not in each,
            f"a type must be written in lower case and without a dot, got {each!r}",
        )


def returns_a_document(make: MakeReader, sample: bytes) -> None:
    """It returns a document with the name that it was given."""
    found = make().read(sample, _NAME)
    expect(isinstance(found, Document), f"read must return a Document, got {type(found).__name__}")
    expect(found.name == _NAME, f"the document must have the name that was given, got {found.name!r}")


def returns_what_can_be_stored(make: MakeReader, sample: bytes) -> None:
    """A document is the same after it was stored: its fields have the types that they say."""
    _expect_storable(make().read(sample, _NAME))


def reads_the_same_again(make: MakeReader, sample: bytes) -> None:
    """The same bytes give the same document, also from another reader and after another file."""
    reader = make()
    first = _read(reader, sample)
    _read(reader, sample[: len(sample) // 2])
    expect(_read(reader, sample) == first, "the same bytes must give the same document when they are read again")
    expect(_read(make(), sample) == first, "the same bytes must give the same document from another reader")


def says_what_it_cannot_read(make: MakeReader, sample: bytes) -> None:
    """A damaged file gives a document, or raises `ReadError`."""
    for damaged in _damage(sample):
        try:
            make().read(damaged, _NAME)
        except ReadError:
            continue
        except Exception as error:
            raise_broken(f"a damaged file must raise ReadError, got {type(error).__name__}: {error}")


READER_RULES = (
    names_its_types,
    returns_a_document,
    returns_what_can_be_stored,
    reads_the_same_again,
    says_what_it_cannot_read,
)


def gives_a_document(step: Step, document: Document) -> None:
    """It returns a document that is the same after it was stored."""
    found = step(_copy(document), _NAME)
    expect(isinstance(found, Document), f"a step must return a Document, got {type(found).__name__}")
    _expect_storable(found)


def gives_the_same_again(step: Step, document: Document) -> None:
    """The same document gives the same one, also after another."""
    first = _copy(step(_copy(document), _NAME))
    step(Document(name="other", mimetype="text/plain", blocks=[]), "other")
    expect(step(_copy(document), _NAME) == first, "the same document must give the same one again")


STEP_RULES = (gives_a_document, gives_the_same_again)


def _copy(document: Document) -> Document:
    return _DECODER.decode(msgspec.json.encode(document))


def _expect_storable(document: Any) -> None:
    try:
        stored = _DECODER.decode(msgspec.json.encode(document))
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError) as error:
        raise_broken(f"the document cannot be stored: {error}")
    expect(stored == document, "the document must be the same after it was stored")


def raise_broken(rule: str) -> None:
    """Raise `BrokenRule`."""
    expect(condition=False, rule=rule)


def _read(reader: Any, data: bytes) -> Any:
    """The document, or the reason why the file cannot be read."""
    try:
        return reader.read(data, _NAME)
    except ReadError as error:
        return str(error)


def _damage(sample: bytes) -> Iterator[bytes]:
    """Yield files that are cut off, have other bytes, or have nothing to do with the sample."""
    yield from (b"", b"\0", b"\xff\xfe", bytes(range(256)), sample + b"\0\xff")
    for number in range(_PIECES):
        at = len(sample) * number // _PIECES
        yield sample[:at]
        yield sample[:at] + b"\xff" + sample[at + 1 :]
