"""Builds compound files (OLE) for the tests: the container of old Office files and Outlook messages."""

import struct

SECTOR = 512
END, FREE, FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def make_compound(streams: dict[str, bytes]) -> bytes:
    """A compound file with these streams below its root. Short ones are filled up, so that none is a short stream."""
    chains: list[int] = []
    sectors: list[bytes] = []
    entries = [_entry("Root Entry", 5, child=1, start=END)]
    names = sorted(streams, key=lambda name: (len(name), name.upper()))
    for number, name in enumerate(names, 1):
        data = streams[name].ljust(4096, b"\0") if len(streams[name]) < 4096 else streams[name]
        start = len(sectors)
        pieces = [data[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, len(data), SECTOR)]
        sectors += pieces
        chains += [*range(start + 1, start + len(pieces)), END]
        right = number + 1 if number < len(names) else FREE
        entries.append(_entry(name, 2, right=right, start=start, size=len(streams[name]), minimum=len(data)))
    directory = b"".join(entries)
    directory += _entry("", 0) * (-len(entries) % 4)
    first = len(sectors)
    pieces = [directory[at : at + SECTOR] for at in range(0, len(directory), SECTOR)]
    sectors += pieces
    chains += [*range(first + 1, first + len(pieces)), END]
    chains.append(FAT)
    table = struct.pack("<128I", *chains, *[FREE] * (128 - len(chains)))
    header = OLE + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIIII", 0, 1, first, 0, 4096, END, 0, END, 0, len(sectors))
    return header.ljust(SECTOR, b"\xff") + b"".join(sectors) + table


def _entry(
    name: str, kind: int, *, right: int = FREE, child: int = FREE, start: int = 0, size: int = 0, minimum: int = 0
) -> bytes:
    encoded = name.encode("utf-16-le")
    length = len(encoded) + 2 if name else 0
    begin = encoded.ljust(64, b"\0") + struct.pack("<HBBIII", length, kind, 1, FREE, right, child)
    return begin + bytes(36) + struct.pack("<IQ", start, max(size, minimum))


def make_message(subject: str, sender: str, body: str) -> bytes:
    """An Outlook message."""
    texts = {"0037": subject, "0C1A": sender, "1000": body}
    encoded = {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    rows = b"".join(
        struct.pack("<IIII", int(f"{tag}001F", 16), 6, len(text.encode("utf-16-le")) + 2, 0)
        for tag, text in texts.items()
    )
    return make_compound({"__properties_version1.0": bytes(32) + rows, **encoded})
