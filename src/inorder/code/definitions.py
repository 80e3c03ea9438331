"""The definitions of a file: the name, the documentation, the lines and the signature of each.

They are found by compiled code (`_definitions.c`). Where inorder was built without a C compiler, `python_definitions`
does the same.
"""

from collections.abc import Sequence

from .captures import Captures
from .grammars import Grammar
from .model import Symbol
from .python_definitions import Definition, DefinitionRules
from .source import Source
from .texts import (
    SIGNATURE_CHARACTERS_MAX,
    clean_name,
    extract_comment_text,
    extract_string_text,
    join_signature,
    split_name,
)

try:
    from ._definitions import find_definitions as _find_definitions
except ImportError:
    from .python_definitions import find_definitions as _find_definitions

_CLASS_KINDS = ("class", "interface", "struct", "trait", "enum", "impl", "object", "record", "union", "extension")
RULES = DefinitionRules(
    class_kinds=frozenset(_CLASS_KINDS),
    depth_max=16,
    signature_characters_max=SIGNATURE_CHARACTERS_MAX,
    signature_lines_max=5,
    split_name=split_name,
    clean_name=clean_name,
    extract_string_text=extract_string_text,
    extract_comment_text=extract_comment_text,
    join_signature=join_signature,
)


def find_definitions(captures: Captures, grammar: Grammar, source: Source) -> list[Definition]:
    """The definitions of a file in its order, the outer before the inner."""
    return _find_definitions(
        captures.definitions,
        grammar.roles,
        captures.comments,
        captures.attached,
        captures.docs,
        source.starts,
        source.data,
        source.text_start,
        RULES,
        Definition,
    )


def build_symbols(definitions: Sequence[Definition]) -> tuple[Symbol, ...]:
    """A symbol for each definition, in the same order."""
    return tuple(
        [
            Symbol(
                each.name,
                each.qualified_name,
                each.kind,
                each.line,
                each.last_line,
                each.start,
                each.end,
                each.signature,
            )
            for each in definitions
        ]
    )
