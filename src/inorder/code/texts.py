"""The texts of a definition, cleaned: its name and its signature."""

import re

NAME_CHARACTERS_MAX = 200
"""Limit for a name: a heading of a document can be a whole paragraph."""
SIGNATURE_CHARACTERS_MAX = 400
_QUOTES = "\"'`"
_DOTTED = re.compile(r"\w+(?:\.\w+)+")
_DOTTED_KINDS = ("module", "interface", "impl", "extension")
"""Definitions that have a path as their name: `defmodule Shop.Queue`."""


def split_name(kind: str, name: str) -> tuple[str, str]:
    """The name of a definition that is no identifier, alone and with the names before it."""
    name = name.strip(": " if kind == "field" else "")  # `:name` in Ruby, `name:` in Elixir
    *outer, name = name.split("." if kind in _DOTTED_KINDS and _DOTTED.fullmatch(name) else "::")
    parts = [*(clean_name(part.partition("<")[0]) for part in outer), clean_name(name)]
    return parts[-1], ".".join(parts)


def clean_name(name: str) -> str:
    """A name in one line, without quotes."""
    return " ".join(name.split())[:NAME_CHARACTERS_MAX].strip(_QUOTES)


def join_signature(head: str) -> str:
    """The text that precedes the body of a definition, in one line."""
    return " ".join(head.split())[:SIGNATURE_CHARACTERS_MAX].rstrip(" {:;,")
