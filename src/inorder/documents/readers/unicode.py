"""Normalizes the text of PDFs: composed characters, no ligatures, no invisible characters.

Presentation forms of Arabic letters become the letters themselves, and ligatures such as fi their letters. Other
compatibility characters (full-width letters, circled numbers) are content and stay.
"""

import re
import unicodedata

NO_CHARACTER = "\ufffe"
"""PDFium's mark for a hyphen at the end of a line, and for a glyph without a known character."""

_CJK_RANGES = "\u2e80-\u2fdf\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
_CJK = re.compile(f"[{_CJK_RANGES}\U00020000-\U0003134f]")
_SPACED_CJK = re.compile(f"(?<=[{_CJK_RANGES}]) +(?=[{_CJK_RANGES}])")
_SHAPES = re.compile("[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufdff\ufe70-\ufefc]+")
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ufffe\uffff]+")
_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_SYMBOL_BULLET = re.compile("[\uf0a7\uf0b7\uf0d8\uf0fc\uf076\uf06e\uf06c]|^\x88(?= )")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_SPECIAL = re.compile(
    f"[{_CJK_RANGES}"
    "\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\xa0\u00ad\u1680\u2000-\u200b\u202f\u205f\u2060\ud800-\uf8ff\ufb00-\ufdff\ufe70-\uffff]"
)
_LIGATURES = dict(
    zip("\x1b\x1c\x1d\x1e\x1f\x0b\x0c\x0e\x0f", "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb00\ufb01\ufb03\ufb04", strict=True)
)
"""Their codes in the two encodings of TeX, as far as they are no line breaks."""
_UNNAMED_LIGATURE = re.compile("(?<=[^\\W\\d_])[\x0b\x0c\x0e\x0f\x1b-\x1f]|[\x0b\x0c\x0e\x0f\x1b-\x1f](?=[^\\W\\d_])")
_USUAL_FORMS = {
    ord(space): " "
    for space in "\t\x0b\x0c\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
}
_USUAL_FORMS |= {0x2010: "-", 0x2011: "-"}
_FORMS = re.compile("[\t\x0b\x0c\x0e\x0f\x1b-\x1f\u00a0\u1680\u2000-\u200a\u2010\u2011\u202f\u205f]")
_HALF = re.compile("[\ud800-\udfff]")


def normalize_characters(text: str) -> str:
    """Replace each space, tabulator or hyphen that has several forms by its usual form, and ligatures that a font of
    TeX leaves without a name. The length does not change."""
    if not _FORMS.search(text):
        return text
    return _UNNAMED_LIGATURE.sub(lambda found: _LIGATURES[found.group()], text).translate(_USUAL_FORMS)


def clean(text: str) -> str:
    """Normalize a piece of a line."""
    if text.isascii() and text.isprintable():
        return text
    if _HALF.search(text):  # surrogate pairs
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if not _SPECIAL.search(text):
        return unicodedata.normalize("NFC", text)
    text = _SPACE.sub(" ", text)
    if text.endswith("\u00ad"):
        text = text[:-1] + NO_CHARACTER
    ends_with_mark = text.endswith(NO_CHARACTER)
    text = _INVISIBLE.sub("", _SYMBOL_BULLET.sub("\u2022", text))
    if not text.isascii():
        text = _SHAPES.sub(_to_letters, text)
        text = unicodedata.normalize("NFC", text)
        text = _SPACED_CJK.sub("", text)
    if ends_with_mark and text:
        text += "-"
    return text.strip()


def _to_letters(shapes: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", shapes.group())


def is_cjk(character: str) -> bool:
    """Whether the character is Chinese, Japanese or Korean: scripts without spaces between words."""
    return bool(_CJK.match(character))


def is_right_to_left(text: str) -> bool:
    """Whether at least half of the letters belong to scripts that are written from right to left."""
    there = 0 if text.isascii() else len(_RIGHT_TO_LEFT.findall(text))
    return 0 < there * 2 >= sum(map(str.isalpha, text))
