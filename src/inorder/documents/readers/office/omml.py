"""Formulas of Office files (OMML) as LaTeX.

Each element is converted when it ends, from its converted children: formulas may be nested to any depth.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from .package import Attributes, strip_namespaces

_SIGNS = (
    "2211 sum 220f prod 222b int 222c iint 222d iiint 222e oint 22c3 bigcup 22c2 bigcap 221e infty 2264 leq "
    "2265 geq 2260 neq 2248 approx 2261 equiv 223c sim 221d propto b1 pm 2213 mp d7 times f7 div b7 cdot 22c5 "
    "cdot 2219 cdot 2218 circ 2192 rightarrow 2190 leftarrow 2194 leftrightarrow 21d2 Rightarrow 21d4 "
    "Leftrightarrow 2208 in 2209 notin 2282 subset 2286 subseteq 222a cup 2229 cap 2200 forall 2203 exists ac "
    "neg 2227 wedge 2228 vee 2202 partial 2207 nabla 221a surd 2026 ldots 22ef cdots 3f5 epsilon 3b5 "
    "varepsilon 3d5 phi 3c6 varphi 3d1 vartheta 3c2 varsigma"
)
"""Code points, and the commands that stand for them."""
_COMMANDS = {
    chr(int(code, 16)): f"\\{command}" for code, command in zip(_SIGNS.split()[::2], _SIGNS.split()[1::2], strict=True)
}
_COMMANDS |= {"\u2212": "-", "\u2010": "-", "\u211d": r"\mathbb{R}"}
_GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (\w+)")
_LATIN_CAPITALS = (
    "ALPHA",
    "BETA",
    "EPSILON",
    "ZETA",
    "ETA",
    "IOTA",
    "KAPPA",
    "MU",
    "NU",
    "OMICRON",
    "RHO",
    "TAU",
    "CHI",
)
"""Capitals that LaTeX has no command for, because they look like Latin ones."""
_NAMES = {"LAMDA": "LAMBDA"}
_ESCAPED = "%#&{}_$"
_FUNCTION_NAMES = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min Pr sec sin sinh sup tan tanh"
)
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_ACCENTS = {
    "\u0300": "grave",
    "\u0301": "acute",
    "\u0302": "hat",
    "\u0303": "tilde",
    "\u0304": "bar",
    "\u0305": "overline",
    "\u0306": "breve",
    "\u0307": "dot",
    "\u0308": "ddot",
    "\u030c": "check",
    "\u20d6": "overleftarrow",
    "\u20d7": "vec",
}
_FENCES = {"": ".", "{": r"\{", "}": r"\}", "⟨": r"\langle", "⟩": r"\rangle", "‖": r"\|", "∥": r"\|"}
_FENCES |= {"⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil"}
_DEPTH_MAX = 1_000
"""Deeper elements are their text."""


class _Element:
    """An element whose end has not been reached."""

    __slots__ = ("name", "parts", "values")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[tuple[str, str]] = []
        """Name and LaTeX of each child."""
        self.values: dict[str, str] = {}
        """Properties such as `chr`."""

    def part(self, name: str) -> str:
        return next((latex for each, latex in self.parts if each == name), "")

    def join(self) -> str:
        return _join([latex for _, latex in self.parts])


class OmmlReader:
    """Receives the elements of one formula, without the formula itself."""

    def __init__(self) -> None:
        self._open = [_Element("m:oMath")]
        self._is_text = False
        self._deeper = 0

    def start(self, name: str, attributes: Attributes) -> None:
        """An element begins. Names are short ones."""
        self._is_text = name == "m:t"
        if self._deeper or len(self._open) > _DEPTH_MAX:
            self._deeper += 1
            return
        if name in _PROPERTIES:
            self._open[-1].values[name] = strip_namespaces(attributes).get("val", "")
        self._open.append(_Element(name))

    def text(self, text: str) -> None:
        """Text between tags."""
        if self._is_text:
            self._open[-1].parts.append(("m:e" if self._deeper else "", text))

    def end(self) -> None:
        """The last element ends."""
        self._is_text = False
        if self._deeper:
            self._deeper -= 1
            return
        element = self._open.pop()
        outer = self._open[-1]
        if element.name.endswith("Pr") or element.name in _PROPERTIES:
            outer.values |= element.values
        elif element.name == "m:t":
            outer.parts.append(("m:t", "".join(text for _, text in element.parts)))
        else:
            convert = _CONVERTERS.get(element.name, _Element.join)
            outer.parts.append((element.name, convert(element)))

    def finish(self) -> str:
        """The formula as LaTeX."""
        return self._open[0].join()


def _join(parts: list[str]) -> str:
    """Join parts with a space where a command would run into a letter."""
    found: list[str] = []
    for part in filter(None, parts):
        if found and part[0].isalpha() and re.search(r"\\[A-Za-z]+$", found[-1]):
            found.append(" ")
        found.append(part)
    return "".join(found)


def _convert_run(run: _Element) -> str:
    text = "".join(latex for name, latex in run.parts if name == "m:t")
    if "m:nor" in run.values and run.values["m:nor"] not in ("0", "off", "false"):
        return rf"\text{{{''.join(map(_escape, text))}}}" if text.strip() else text
    return _join([_convert_character(character) for character in text])


def _escape(character: str) -> str:
    if character == "\\":
        return r"\backslash "
    return f"\\{character}" if character in _ESCAPED else character


@lru_cache(4096)
def _convert_character(character: str) -> str:
    if character.isascii():
        return _escape(character)
    if character in _COMMANDS:
        return _COMMANDS[character]
    normal = unicodedata.normalize("NFKC", character)
    if normal in _COMMANDS:
        return _COMMANDS[normal]
    if len(normal) == 1 and (match := _GREEK.fullmatch(unicodedata.name(normal, ""))):
        name = _NAMES.get(match.group(2), match.group(2))
        if match.group(1) == "SMALL" and name != "OMICRON":
            return f"\\{name.lower()}"
        return normal if name in _LATIN_CAPITALS else f"\\{name.capitalize()}"
    return normal if normal.isascii() and normal.isalnum() else character


def _base(latex: str) -> str:
    """What has an exponent or an index, in braces if it is more than one sign."""
    is_single = len(latex) == 1 or re.fullmatch(r"\\[A-Za-z]+", latex) is not None
    return latex if is_single else f"{{{latex}}}"


def _convert_fraction(element: _Element) -> str:
    top, bottom = element.part("m:num"), element.part("m:den")
    match element.values.get("m:type"):
        case "noBar":
            return rf"\genfrac{{}}{{}}{{0pt}}{{}}{{{top}}}{{{bottom}}}"
        case "lin":
            return f"{top}/{bottom}"
    return rf"\frac{{{top}}}{{{bottom}}}"


def _convert_scripts(element: _Element) -> str:
    sub, sup = element.part("m:sub"), element.part("m:sup")
    scripts = (f"_{{{sub}}}" if sub else "") + (f"^{{{sup}}}" if sup else "")
    base = element.part("m:e")
    return f"{{}}{scripts}{_base(base)}" if element.name == "m:sPre" else f"{_base(base)}{scripts}"


def _convert_root(element: _Element) -> str:
    degree = element.part("m:deg")
    return rf"\sqrt{f'[{degree}]' if degree else ''}{{{element.part('m:e')}}}"


def _convert_operator(element: _Element) -> str:
    sign = _convert_character(element.values.get("m:chr") or "∫")
    sub, sup = element.part("m:sub"), element.part("m:sup")
    scripts = (f"_{{{sub}}}" if sub else "") + (f"^{{{sup}}}" if sup else "")
    return _join([f"{sign}{scripts}" if scripts else sign, element.part("m:e")])


def _convert_delimiters(element: _Element) -> str:
    values = element.values
    begin, end = values.get("m:begChr", "("), values.get("m:endChr", ")")
    parts = [latex for name, latex in element.parts if name == "m:e"]
    separator = values.get("m:sepChr", "|")
    inner = (separator if separator in (",", ";") else rf"\middle{_FENCES.get(separator, separator)}").join(parts)
    left, right = rf"\left{_FENCES.get(begin, begin)}", rf"\right{_FENCES.get(end, end)}"
    return _join([left, inner, right])


def _convert_function(element: _Element) -> str:
    name = element.part("m:fName").strip()
    first = re.match(r"[A-Za-z]+", name)
    if first and first.group() in _FUNCTIONS:
        name = f"\\{name}"
    elif name.isascii() and name.isalpha() and len(name) > 1:
        name = rf"\operatorname{{{name}}}"
    return _join([name, element.part("m:e")])


def _convert_limit(element: _Element) -> str:
    base, limit = element.part("m:e").strip(), element.part("m:lim")
    is_low = element.name == "m:limLow"
    if base in _FUNCTIONS or base.startswith((r"\underbrace", r"\overbrace")):
        return f"{base}{'_' if is_low else '^'}{{{limit}}}"
    return rf"\{'under' if is_low else 'over'}set{{{limit}}}{{{base}}}"


def _convert_rows(element: _Element) -> str:
    kind = "matrix" if element.name == "m:m" else "aligned"
    rows = [latex for name, latex in element.parts if name in ("m:mr", "m:e")]
    if kind == "aligned" and len(rows) == 1:
        return rows[0]
    content = " \\\\ ".join(rows)
    return rf"\begin{{{kind}}}{content}\end{{{kind}}}"


def _convert_row(element: _Element) -> str:
    return " & ".join(latex for name, latex in element.parts if name == "m:e")


def _convert_accent(element: _Element) -> str:
    return rf"\{_ACCENTS.get(element.values.get('m:chr', ''), 'hat')}{{{element.part('m:e')}}}"


def _convert_bar(element: _Element) -> str:
    name = "overline" if element.values.get("m:pos") == "top" else "underline"
    return rf"\{name}{{{element.part('m:e')}}}"


def _convert_brace(element: _Element) -> str:
    name = "overbrace" if element.values.get("m:pos") == "top" else "underbrace"
    return rf"\{name}{{{element.part('m:e')}}}"


_PROPERTIES = frozenset(("m:chr", "m:begChr", "m:endChr", "m:sepChr", "m:type", "m:pos", "m:nor"))
_CONVERTERS: dict[str, Callable[[_Element], str]] = {
    "m:r": _convert_run,
    "m:f": _convert_fraction,
    **dict.fromkeys(("m:sSup", "m:sSub", "m:sSubSup", "m:sPre"), _convert_scripts),
    "m:rad": _convert_root,
    "m:nary": _convert_operator,
    "m:d": _convert_delimiters,
    "m:func": _convert_function,
    **dict.fromkeys(("m:limLow", "m:limUpp"), _convert_limit),
    **dict.fromkeys(("m:m", "m:eqArr"), _convert_rows),
    "m:mr": _convert_row,
    "m:acc": _convert_accent,
    "m:bar": _convert_bar,
    "m:groupChr": _convert_brace,
}
