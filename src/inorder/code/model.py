"""What is known of one file of source code.

Lines are counted from 1 and end with `\\n`, `\\r\\n` or a lone `\\r`. Offsets count bytes: of the file where it is
UTF-8, and otherwise of its text written as UTF-8.
"""

import msgspec


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """Some lines of a file that belong together. Every line of a file is in exactly one chunk."""

    kind: str
    """What is defined in it: `function`, `method`, `class`, `section`...; `definitions` of several small ones; `lines`
    of none."""
    name: str
    """Of `definitions`, the names of all, with commas between."""
    qualified_name: str
    """With the names of what it lies in. Of `definitions`, of what they lie in."""
    signature: str
    doc: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    text: str
    identifiers: str
    """Every name in it, and its parts, in lower case, each once."""


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """Something that has a name."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str


class Import(msgspec.Struct, frozen=True, gc=False):
    """What a file takes from elsewhere."""

    module: str
    names: tuple[str, ...]
    """Those taken from it; none where it is taken whole, `*` for all."""
    line: int


class Call(msgspec.Struct, frozen=True, gc=False):
    """A place where something is called by its name."""

    caller: str
    """The qualified name of what the place lies in; empty at the top of a file."""
    callee: str
    line: int
    column: int
    """In characters, from 1."""


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """All of it, in the order of the file."""

    language: str
    """Empty where it is not known."""
    line_count: int
    encoding: str
    has_errors: bool
    """Whether parts of it are not as the language wants them."""
    note: str
    """What should be known of how it was read; empty where there is nothing to say."""
    chunks: tuple[Chunk, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    calls: tuple[Call, ...]
