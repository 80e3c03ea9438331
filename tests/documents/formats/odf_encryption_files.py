"""Writes encrypted OpenDocument files, as OpenOffice.org 3, LibreOffice 7 and LibreOffice 25 do."""

import base64
import hashlib
import io
import warnings
import zipfile
import zlib
from random import Random
from typing import Literal

from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from tests.documents.docx_files import archive

Method = Literal["blowfish", "aes", "package"]
METHODS: tuple[Method, ...] = ("blowfish", "aes", "package")
_NAME = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
_EXTENDED = "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"
_ARGON2 = "urn:org:documentfoundation:names:experimental:office:manifest:argon2id"
_W3C = "http://www.w3.org/"


def encrypt_odf(data: bytes, password: str, method: Method, rounds: int = 1024, memory: int = 64) -> bytes:
    """An OpenDocument file with its parts encrypted, or encrypted as a whole."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist() if name != "META-INF/manifest.xml"}
    random = Random(0)
    kept = {"mimetype": parts.pop("mimetype")}
    if method == "package":
        parts = {"encrypted-package": archive({**parts, **kept, "META-INF/manifest.xml": b"<manifest/>"})}
    entries, found = "", dict(kept)
    for name, content in parts.items():
        found[name], entry = _encrypt(content, password, method, random, rounds, memory)
        entries += f'<m:file-entry m:full-path="{name}" m:size="{len(content)}">{entry}</m:file-entry>'
    manifest = f'<m:manifest xmlns:m="{_NAME}" xmlns:loext="{_EXTENDED}">{entries}</m:manifest>'
    return archive(found | {"META-INF/manifest.xml": manifest.encode()})


def _encrypt(
    content: bytes, password: str, method: Method, random: Random, rounds: int, memory: int
) -> tuple[bytes, str]:
    packer = zlib.compressobj(wbits=-15)
    plain = packer.compress(content) + packer.flush()
    salt = random.randbytes(16)
    if method == "blowfish":
        vector = random.randbytes(8)
        key = hashlib.pbkdf2_hmac("sha1", hashlib.sha1(password.encode()).digest(), salt, rounds, 16)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encryptor = Cipher(Blowfish(key), CFB(vector)).encryptor()
        sealed = encryptor.update(plain) + encryptor.finalize()
        check = f'm:checksum-type="SHA1/1K" m:checksum="{_encode(hashlib.sha1(plain[:1024]).digest())}"'
        return sealed, _describe(check, "Blowfish CFB", vector, _pbkdf2(salt, 16, rounds), "")
    start = hashlib.sha256(password.encode()).digest()
    start_key = f'<m:start-key-generation m:start-key-generation-name="{_W3C}2000/09/xmldsig#sha256" m:key-size="32"/>'
    if method == "aes":
        vector = random.randbytes(16)
        key = hashlib.pbkdf2_hmac("sha1", start, salt, rounds, 32)
        padding = 16 - len(plain) % 16
        encryptor = Cipher(AES(key), CBC(vector)).encryptor()
        sealed = encryptor.update(plain + random.randbytes(padding - 1) + bytes([padding])) + encryptor.finalize()
        check = f'm:checksum-type="{_NAME}#sha256-1k" m:checksum="{_encode(hashlib.sha256(plain[:1024]).digest())}"'
        return sealed, _describe(
            check, f"{_W3C}2001/04/xmlenc#aes256-cbc", vector, _pbkdf2(salt, 32, rounds), start_key
        )
    vector = random.randbytes(12)
    key = Argon2id(salt=salt, length=32, iterations=3, lanes=4, memory_cost=64).derive(start)
    derivation = (
        f'm:key-derivation-name="{_ARGON2}" m:key-size="32" m:salt="{_encode(salt)}" loext:argon2-iterations="3" '
        f'loext:argon2-memory="{memory}" loext:argon2-lanes="4"'
    )
    sealed = vector + AESGCM(key).encrypt(vector, plain, None)
    return sealed, _describe("", f"{_W3C}2009/xmlenc11#aes256-gcm", vector, derivation, start_key)


def _describe(check: str, algorithm: str, vector: bytes, derivation: str, start_key: str) -> str:
    return (
        f'<m:encryption-data {check}><m:algorithm m:algorithm-name="{algorithm}" '
        f'm:initialisation-vector="{_encode(vector)}"/><m:key-derivation {derivation}/>{start_key}</m:encryption-data>'
    )


def _pbkdf2(salt: bytes, size: int, rounds: int) -> str:
    return f'm:key-derivation-name="PBKDF2" m:key-size="{size}" m:iteration-count="{rounds}" m:salt="{_encode(salt)}"'


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
