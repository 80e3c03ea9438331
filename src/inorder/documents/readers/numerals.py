"""Format numbers of list items: 3, c, C, iii, III."""

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
ROMAN_MAX = 3999


def to_letters(number: int) -> str:
    """1 is a, 26 is z, 27 is aa."""
    written = ""
    while number > 0:
        number, place = divmod(number - 1, 26)
        written = chr(ord("a") + place) + written
    return written or "0"


def to_roman(number: int) -> str:
    """1 is i, 4 is iv. Digits if there is no Roman numeral for the number."""
    if not 0 < number <= ROMAN_MAX:
        return str(number)
    written = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        written += letters * count
    return written


def format_number(number: int, style: str) -> str:
    """Format a number in one of the styles of HTML: 1, a, A, i, I."""
    write = {"a": to_letters, "i": to_roman}.get(style.lower(), str)
    return write(number).upper() if style.isupper() else write(number)
