"""Collapses white space. A very long text is processed in slices: a list of all its words would need many times its
memory."""

_SLICE = 1 << 20
_SHORT = 64
_NOT_WHITESPACE = bytes(code for code in range(128) if not chr(code).isspace() or code == 32)
"""Of ASCII. The space is among them, because a single one stays as it is."""


def collapse_whitespace(text: str) -> str:
    """The words of a text with one space between them, without soft hyphens."""
    if text.isalnum():
        return text
    if text.rfind("  ") < 0 and text.strip() is text:  # `rfind` takes half the time of `in`
        if len(text) < _SHORT or not text.isascii():
            if text.isprintable():
                return text  # most text needs no change
        elif not text.encode().translate(None, _NOT_WHITESPACE):
            return text
    if len(text) > _SLICE:
        return _collapse_slices(text)
    collapsed = " ".join(text.split())
    return collapsed if collapsed.isascii() else collapsed.replace("\xad", "")


def _collapse_slices(text: str) -> str:
    parts: list[str] = []
    is_apart = True
    for start in range(0, len(text), _SLICE):
        piece = text[start : start + _SLICE]
        collapsed = collapse_whitespace(piece)
        if collapsed:
            if parts and (is_apart or piece[0].isspace()):
                parts.append(" ")
            parts.append(collapsed)
            is_apart = piece[-1].isspace()
        else:
            is_apart = True
    return "".join(parts)
