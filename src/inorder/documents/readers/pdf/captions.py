"""How captions of figures and tables begin."""

import re

CAPTION = re.compile(
    r"(?:Figure|Fig\.|FIGURE|Abbildung|Abb\.|Figura|Table|TABLE|Tabelle|Tableau|Tabla|[\u56fe\u5716\u56f3\u8868])"
    r"\s*(?:\d+|[IVX]+\b)"
)
_CAPTION_WORDS = ("Fig", "FIG", "Abb", "Tab", "TAB", "\u56fe", "\u5716", "\u56f3", "\u8868")


def may_have_captions(text: str) -> bool:
    """Whether the text of a page may contain a caption."""
    return any(word in text for word in _CAPTION_WORDS) and bool(CAPTION.search(text))
