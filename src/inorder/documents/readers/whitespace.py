"""Collapses white space. A very long text is processed in slices: a list of all its words would need many times its
memory."""

_SLICE = 1 << 20


def collapse_whitespace(text: str) -> str:
    """The words of a text with one space between them, without soft hyphens."""
    if len(text) > _SLICE:
        return _collapse_slices(text)
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text  # fast path: most text needs no change
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
