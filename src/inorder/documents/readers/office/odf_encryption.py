"""Decrypts OpenDocument files with the passwords of the user.

The manifest of the archive says how each part is encrypted: since version 1.2 of the format with AES and a key from
PBKDF2, before with Blowfish. Recent versions of LibreOffice encrypt a whole archive instead, `encrypted-package`, with
AES-GCM and a key from Argon2. Parts are compressed before they are encrypted. A digest of the first 1,024 compressed
bytes, or the tag of AES-GCM, tells whether a password is right.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from inorder.errors import ReadError

from .decryption import ROUNDS_MAX
from .package import Attributes, Handler, Package, strip_namespaces

MANIFEST = "META-INF/manifest.xml"
WHOLE_PACKAGE = "encrypted-package"
PARTS = ("content.xml", "styles.xml")
"""The parts that are read."""
CHECKED_BYTES = 1024
ARGON2_MEMORY_MAX = 2**20
"""In KiB. LibreOffice uses 65,536."""
ARGON2_COST_MAX = 64
"""Iterations, and lanes. LibreOffice uses 3 and 4."""
_BLOCK_BYTES = 16
_NONCE_BYTES = 12
_EXTRA = "reading it needs the package cryptography: pip install 'inorder[passwords]'"
_ELEMENTS = ("encryption-data", "algorithm", "key-derivation", "start-key-generation")


class _WrongPasswordError(Exception):
    """The password is not that of the part."""


class _Manifest(Handler):
    """Collects how the parts of an archive are encrypted: the attributes by the element and their names."""

    def __init__(self) -> None:
        self._path = ""
        self.parts: dict[str, dict[str, str]] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        element, attributes = name.rpartition(" ")[2], strip_namespaces(attributes)
        if element == "file-entry":
            self._path = attributes.get("full-path", "")
        elif element in _ELEMENTS and (self._path in PARTS or self._path == WHOLE_PACKAGE):
            part = self.parts.setdefault(self._path, {})
            part |= {f"{element}/{key}": value for key, value in attributes.items()}


def decrypt_parts(package: Package, passwords: Sequence[str]) -> Package:
    """Return the archive with the parts that are read decrypted. Raises `ReadError` if none of the passwords opens
    it."""
    if b"encryption-data" not in package.read(MANIFEST):
        return package
    if not passwords:
        raise ReadError("the file is encrypted with a password")
    manifest = _Manifest()
    package.parse(MANIFEST, manifest)
    if not manifest.parts:
        raise ReadError("the file is encrypted in an unknown way")
    try:
        for password in passwords:
            try:
                return _decrypt_with(package, manifest.parts, password)
            except _WrongPasswordError:
                continue
    except ImportError:
        raise ReadError(f"the file is encrypted with a password; {_EXTRA}") from None
    except (MemoryError, ReadError):
        raise
    except Exception as error:
        raise ReadError(f"the encrypted file is damaged: {type(error).__name__}") from None
    raise ReadError("the file is encrypted with a password; none in the password file opens it")


def _decrypt_with(package: Package, parts: Mapping[str, Mapping[str, str]], password: str) -> Package:
    """Raises `_WrongPasswordError` if it is not the password."""
    found = {name: _decrypt(package.read(name), parts[name], password) for name in parts if package.has(name)}
    for name, deflated in found.items():
        package.replace(name, deflated)
    if WHOLE_PACKAGE not in parts:
        return package
    return Package(package.read(WHOLE_PACKAGE), "OpenDocument", "an office file")


def _decrypt(data: bytes, settings: Mapping[str, str], password: str) -> bytes:
    """The compressed content of a part."""
    ciphers = import_module("cryptography.hazmat.primitives.ciphers")
    key = _derive_key(settings, password)
    vector = _decode(settings, "algorithm/initialisation-vector")
    algorithm = settings.get("algorithm/algorithm-name", "").lower()
    if algorithm.endswith("-gcm"):
        return _decrypt_authenticated(data, key, vector)
    if algorithm.endswith("-cbc"):
        cipher = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CBC(vector))
        decryptor = cipher.decryptor()
        plain: bytes = decryptor.update(data) + decryptor.finalize()
        padding = plain[-1] if plain else 0
        if not 0 < padding <= _BLOCK_BYTES:
            raise _WrongPasswordError
        plain = plain[:-padding]
    elif "blowfish" in algorithm:
        old, modes = (import_module(f"cryptography.hazmat.decrepit.ciphers.{each}") for each in ("algorithms", "modes"))
        decryptor = ciphers.Cipher(old.Blowfish(key), modes.CFB(vector)).decryptor()
        plain = decryptor.update(data) + decryptor.finalize()
    else:
        raise ReadError(f"the file is encrypted with {algorithm or 'an unknown algorithm'}, which is not supported")
    digest = hashlib.sha256 if "256" in settings.get("encryption-data/checksum-type", "") else hashlib.sha1
    if digest(plain[:CHECKED_BYTES]).digest() != _decode(settings, "encryption-data/checksum"):
        raise _WrongPasswordError
    return plain


def _decrypt_authenticated(data: bytes, key: bytes, vector: bytes) -> bytes:
    """The content of a part that begins with its nonce, and ends with its tag."""
    aead, errors = (import_module(f"cryptography.{each}") for each in ("hazmat.primitives.ciphers.aead", "exceptions"))
    if data[:_NONCE_BYTES] != vector:
        raise ReadError("the encrypted file is damaged: its nonces differ")
    try:
        plain: bytes = aead.AESGCM(key).decrypt(vector, data[_NONCE_BYTES:], None)
    except errors.InvalidTag:
        raise _WrongPasswordError from None
    return plain


def _derive_key(settings: Mapping[str, str], password: str) -> bytes:
    start_digest = (
        hashlib.sha256 if "256" in settings.get("start-key-generation/start-key-generation-name", "") else hashlib.sha1
    )
    start = start_digest(password.encode()).digest()
    salt, size = _decode(settings, "key-derivation/salt"), int(settings.get("key-derivation/key-size", 16))
    if settings.get("key-derivation/key-derivation-name", "").lower().endswith("argon2id"):
        return _derive_with_argon2(settings, start, salt, size)
    rounds = int(settings.get("key-derivation/iteration-count", 1024))
    if rounds > ROUNDS_MAX:
        raise ReadError(f"the encryption of the file demands {rounds:,} rounds; the limit is {ROUNDS_MAX:,}")
    return hashlib.pbkdf2_hmac("sha1", start, salt, rounds, size)


def _derive_with_argon2(settings: Mapping[str, str], start: bytes, salt: bytes, size: int) -> bytes:
    names = ("argon2-iterations", "argon2-memory", "argon2-lanes")
    iterations, memory, lanes = (int(settings[f"key-derivation/{name}"]) for name in names)
    if memory > ARGON2_MEMORY_MAX or max(iterations, lanes) > ARGON2_COST_MAX:
        raise ReadError(f"the encryption of the file demands {memory:,} KiB; the limit is {ARGON2_MEMORY_MAX:,}")
    argon2: Any = import_module("cryptography.hazmat.primitives.kdf.argon2")
    derivation = argon2.Argon2id(salt=salt, length=size, iterations=iterations, lanes=lanes, memory_cost=memory)
    key: bytes = derivation.derive(start)
    return key


def _decode(settings: Mapping[str, str], name: str) -> bytes:
    return base64.b64decode(settings.get(name, ""))
