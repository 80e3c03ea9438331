"""Reads subtitles (WebVTT, SubRip): what is said, in paragraphs, without times.

Cues are joined up to the end of a sentence, as long as one voice speaks. What several cues in a row repeat, as rolling
captions do, is there once.
"""

import re
from html import unescape

from inorder.documents.model import AnyBlock, Document, Paragraph
from inorder.files.encoding import decode

from .document import make_document
from .whitespace import collapse_whitespace

_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*$", re.M)
_VOICE = re.compile(r"<v(?:\.[^ >]*)?[ \t]+([^>]+)>")
_TAG = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}")
_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]]*$")
_CHARACTERS_MAX = 2_000
"""A longer paragraph ends with its cue."""


def read(data: bytes, name: str) -> Document:
    """Read a file with subtitles."""
    decoded = decode(data)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    blocks: list[AnyBlock] = []
    voice = said = last = ""
    _, *cues = _TIMES.split(text)
    for cue in cues:
        for line in _list_lines(cue):
            speaker = found.group(1).strip() if (found := _VOICE.search(line)) else ""
            words = collapse_whitespace(unescape(_TAG.sub("", line)))
            if not words or words == last:
                continue
            last = words
            if said and (speaker != voice or _END.search(said) or len(said) > _CHARACTERS_MAX):
                blocks.append(Paragraph(text=said))
                said = ""
            if not said:
                said = f"{speaker}: {words}" if speaker and speaker != voice else words
                voice = speaker
            else:
                said = f"{said} {words}"
    if said:
        blocks.append(Paragraph(text=said))
    warnings = [decoded.warning] if decoded.warning else []
    mimetype = "text/vtt" if text.lstrip("\ufeff").startswith("WEBVTT") else "application/x-subrip"
    return make_document("subtitles", name, mimetype, blocks, warnings)


def _list_lines(cue: str) -> list[str]:
    """The lines of a cue. A blank line ends it; what follows is a comment, a style, or the number of the next cue."""
    return cue.lstrip(" \t").removeprefix("\n").partition("\n\n")[0].split("\n")
