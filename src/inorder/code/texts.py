"""The texts of a definition, cleaned: its name, its documentation and its signature."""

import re

NAME_CHARACTERS_MAX = 200
"""Limit for a name: a heading of a document can be a whole paragraph."""
SIGNATURE_CHARACTERS_MAX = 400
DOC_CHARACTERS_MAX = 4000
_QUOTES = "\"'`"
_COMMENT_MARK = re.compile(r"^[ \t]*(?:/\*+!?|//+!?|#+!?|\*+(?!/)|--+|<!--|;+|%+)[ \t]?", re.MULTILINE)
_COMMENT_END = re.compile(r"[ \t]*(?:\*+/|-->)[ \t]*$", re.MULTILINE)
_DOC_START = re.compile(r"[a-zA-Z]{0,2}(\"\"\"|'''|\"|')")


def split_name(kind: str, name: str) -> tuple[str, str]:
    """The name of a definition that is no identifier, alone and with the names before it."""
    *outer, name = name.lstrip(":" if kind == "field" else "").split("::")  # a Ruby symbol, `:name`
    parts = [*(clean_name(part.partition("<")[0]) for part in outer), clean_name(name)]
    return parts[-1], ".".join(parts)


def clean_name(name: str) -> str:
    """A name in one line, without quotes."""
    return " ".join(name.split())[:NAME_CHARACTERS_MAX].strip(_QUOTES)


def extract_comment_text(comment: str) -> str:
    """The text of a comment, without its markers."""
    return _COMMENT_MARK.sub("", _COMMENT_END.sub("", comment.replace("\r", "")))[:DOC_CHARACTERS_MAX].strip()


def extract_string_text(string: str) -> str:
    """The text of a documentation string, without quotes and indentation."""
    match = _DOC_START.match(string)
    text = string[match.end() :].removesuffix("\n").removesuffix(match.group(1)) if match else string
    return "\n".join([line.strip() for line in text[:DOC_CHARACTERS_MAX].splitlines()]).strip()


def join_signature(head: str) -> str:
    """The text that precedes the body of a definition, in one line."""
    return " ".join(head.split())[:SIGNATURE_CHARACTERS_MAX].rstrip(" {:;,")
