"""The words that introduce links to other articles, in the languages of many sites."""

import re

from .measure import Box

_ENGLISH = (
    r"related|read (?:more|also|next)|also read|see also:|more (?:from|on|stories|news|about this)|trending|"
    r"recommended|most (?:read|popular|viewed)|you (?:may|might) (?:also )?(?:like|enjoy)|popular|latest|don.t miss|"
    r"watch:|editor.?s.? (?:picks?|choice)|newsletter|sign up|subscribe"
)
_GERMAN = (
    r"lesen sie|lies auch|mehr zum thema|mehr (?:aus|von|zu)|"
    r"weitere (?:artikel|beitr|themen|meldungen|nachrichten|news)|das k\u00f6nnte|auch interessant|"
    r"verwandte|\u00e4hnliche|empfehlung|meistgelesen|beliebt|teilen|passend dazu|"
    r"aktuelle (?:beitr|artikel|nachrichten|meldungen)|beitr\u00e4ge zum thema|top-?themen|zum thema"
)
_FRENCH = r"\u00e0 lire|lire aussi|sur le m\u00eame sujet|articles? (?:li\u00e9s|similaires|r\u00e9cents)"
_SPANISH = (
    r"te puede interesar|lea (?:tambi\u00e9n|m\u00e1s)|m\u00e1s (?:noticias|le\u00eddas|en)|noticias relacionadas|"
    r"art\u00edculos relacionados"
)
_OTHERS = (
    r"leggi anche|potrebbe interessarti|articoli correlati|leia (?:tamb\u00e9m|mais)|veja tamb\u00e9m|lees ook|"
    r"zobacz (?:tak\u017ce|te\u017c|r\u00f3wnie\u017c)|czytaj (?:tak\u017ce|te\u017c|r\u00f3wnie\u017c|wi\u0119cej)|"
    r"polecamy|powi\u0105zane|podobne|\u0447\u0438\u0442\u0430\u0439\u0442\u0435|"
    r"\u0441\u043c\u043e\u0442\u0440\u0438\u0442\u0435 \u0442\u0430\u043a\u0436\u0435"
)
_RELATED = re.compile(rf"\W*(?:{_ENGLISH}|{_GERMAN}|{_FRENCH}|{_SPANISH}|{_OTHERS})", re.I)
_LABELS = frozenset(("h2", "h3", "h4", "h5", "h6", "p", "div"))
_LABEL_CHARACTERS_MAX = 60
_REFERENCE_CHARACTERS_MAX = 200


def introduces_links(box: Box) -> bool:
    """Whether a box is a heading or label such as "Related articles"."""
    if box.tag not in _LABELS or box.boxes or not 0 < box.characters < _LABEL_CHARACTERS_MAX:
        return False
    return _RELATED.match(box.text) is not None


def is_reference(box: Box) -> bool:
    """Whether a paragraph is a link to another article, such as "Read more: Lamps"."""
    is_link = box.link_share > 0.4 and box.characters < _REFERENCE_CHARACTERS_MAX
    return is_link and _RELATED.match(box.text) is not None
