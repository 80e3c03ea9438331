"""How captions of figures and tables begin."""

import re

FIGURE_CAPTION = re.compile(r"(?:Figure|Fig\.|FIGURE|Abbildung|Abb\.|Figura|[\u56fe\u5716\u56f3])\s*(?:\d+|[IVX]+\b)")
CAPTION = re.compile(
    r"(?:Figure|Fig\.|FIGURE|Abbildung|Abb\.|Figura|Table|TABLE|Tabelle|Tableau|Tabla|[\u56fe\u5716\u56f3\u8868])"
    r"\s*(?:\d+|[IVX]+\b)"
)
