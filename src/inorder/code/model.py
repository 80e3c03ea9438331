"""The result of parsing one file of source code.

Lines are counted from 1 and end with `\\n`, `\\r\\n` or a lone `\\r`.
"""

import msgspec


class CodeChunk(msgspec.Struct, frozen=True, gc=False):
    """Lines of a file that belong together. Every line of a file is in exactly one chunk."""

    kind: str
    """What it defines: `function`, `method`, `class`, `section`...; `definitions` for several small ones; `lines` for
    none."""
    name: str
    """For `definitions`, the names of all, separated by commas."""
    qualified_name: str
    """The name with those of the enclosing definitions. For `definitions`, that of the enclosing definition."""
    start_line: int
    end_line: int
    text: str


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """Something that has a name."""

    name: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    signature: str


class Import(msgspec.Struct, frozen=True, gc=False):
    """An import statement."""

    module: str
    names: tuple[str, ...]
    """The imported names; none if the module itself is imported, `*` for all names."""
    line: int


class CallSite(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A place where something is called by its name."""

    caller: str
    """The qualified name of the enclosing definition; empty at the top level."""
    callee: str
    line: int
    column: int
    """Counted in characters, from 1."""


class ParsedFile(msgspec.Struct, frozen=True, gc=False):
    """Everything that was found in a file, in the order of the file."""

    language: str
    """Empty if unknown."""
    line_count: int
    note: str
    """A remark on how the file was decoded or parsed; empty if there is nothing unusual."""
    chunks: tuple[CodeChunk, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    calls: list[CallSite]
