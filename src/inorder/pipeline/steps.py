"""The steps of the pipeline: which there are, what each reads, and what its results depend on.

    bytes ─ doctags ─▶ document ─ chunk ─▶ chunks ─┬─ index ─▶ rows of the index
    source code ───────────────────────────────────┤
                                                   ├─ embed ─▶ vectors, one step per family
                                                   └─ extract ─▶ fields, one step per extraction

A step is due if it has no result, if its settings are others than those of its result, or if what it reads has changed.
Source code has one step: the rows of the index are made of the file itself.
"""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from hashlib import pbkdf2_hmac
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from inorder.documents.chunk import settings as chunk
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.convert import settings as convert
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.embed import step as embed
from inorder.documents.embed.providers.registry import policy
from inorder.documents.extract import settings as extract
from inorder.documents.extract.settings import ExtractSettings
from inorder.documents.readers.passwords import NO_PASSWORDS, read_passwords
from inorder.documents.readers.registry import PASSWORD_KINDS
from inorder.errors import OperatorError, require
from inorder.index import step as index
from inorder.library.reader import StepState
from inorder.models.answers import NAME as ANSWERS
from inorder.models.budget import SpendingLimits
from inorder.models.limits import ServerLimits
from inorder.runtime.identity import hash_settings
from inorder.sources.limits import FetchLimits

from .names import CHUNK, DOCTAGS, EMBED, EXTRACT, INDEX, MODELS, READ, RUN
from .sources.classify import ARCHIVE, CODE, DOCUMENT, FileKind

NONE = "none"
TIMEOUTS_S = {
    DOCTAGS: 300.0,
    CHUNK: 300.0,
    INDEX: 60.0,
    f"{EMBED}:dense": 3600.0,
    f"{EMBED}:sparse": 3600.0,
    EXTRACT: 300.0,
}
"""A long document has ten thousand chunks, and a model without a GPU makes a few vectors per second."""
_REQUEST_SHARE, _CHECK_SHARE = 0.4, 0.1
"""Shares of the time limit of a step: for a request to a server with all its attempts, and for the question whether it
is down."""
_DECRYPTING = ("cryptography", "msoffcrypto")
"""Packages that read encrypted office files."""
_ROUNDS = 100_000
_ATTACHING_KINDS = ("mail", "mailbox", "pdf")


class PipelineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that results depend on, and what workers need to make them."""

    convert: ConvertSettings = ConvertSettings()
    chunk: ChunkSettings = ChunkSettings()
    extract: ExtractSettings = ExtractSettings()
    dense: str = "static"
    """The provider of dense vectors; `none`: there are none."""
    sparse: str = NONE
    password_file: str = NO_PASSWORDS
    """The absolute path of a file with passwords; `none`: there are none."""
    commands: tuple[str, ...] = (DOCTAGS, CHUNK, INDEX, EMBED)
    """Which steps run."""
    skipped: tuple[str, ...] = ()
    """Steps that do not run in this pass."""
    asks: str = ""
    """The step that a model is asked for in this pass; empty: none."""
    answers: str = NONE
    """The file with the answers of models; `none`: one in DATA."""
    model: ServerLimits = ServerLimits(in_flight=8)
    """Limits of the model that reads pages or extracts fields."""
    spending: SpendingLimits = SpendingLimits()
    """What a run may spend on models."""
    model_key_file: str = NONE
    """A file with the key of its server; `none`: the key is in the environment, if there is one."""
    send: bool = False
    """Whether the user agrees that pages or texts are sent to its server."""
    pages_max: int | None = None
    """How many pages a run asks the model for; None: all that lack an answer."""
    fetch_concurrency: int = 16
    """Requests to remote sources at the same time, per worker process."""
    fetch_rate: float | None = None
    """Requests per second to remote sources, of all worker processes together; None: no limit."""
    fetch_bytes_per_s_min: int = 1000
    """The least rate of a response of a remote source."""
    fetch_private: bool = False
    """Whether the public address of a source may lead to a loopback or private one."""
    timeouts_s: dict[str, float] = msgspec.field(default_factory=lambda: dict(TIMEOUTS_S))
    """The time limit of each step in seconds; one that is not there has the limit of the run."""
    server: ServerLimits = ServerLimits()
    """Limits of providers behind a server. Results do not depend on them."""

    @property
    def families(self) -> dict[str, str]:
        """The families of vectors, and the provider of each."""
        specs = {"dense": self.dense, "sparse": self.sparse}
        return {family: spec for family, spec in specs.items() if spec != NONE}

    def find_answers_file(self, data: str) -> str:
        """Return the path of the file with the answers of models."""
        return os.path.abspath(self.answers) if self.answers != NONE else os.path.join(data, ANSWERS)

    def find_key_file(self) -> str:
        """Return the path of the file with the key of the model's server; empty: there is none."""
        return "" if self.model_key_file == NONE else self.model_key_file

    def limit_server(self) -> ServerLimits:
        """Return the limits of providers behind a server. A request, and the question whether the server is down, end
        before the time limit of the step: a server that hangs pauses the run, and fails no file."""
        limit_s = self.timeouts_s.get(f"{EMBED}:dense") or math.inf
        return msgspec.structs.replace(
            self.server,
            deadline_s=min(self.server.deadline_s, _REQUEST_SHARE * limit_s),
            check_s=min(self.server.check_s, _CHECK_SHARE * limit_s),
        )

    def limit_fetches(self, workers: int = 1) -> FetchLimits:
        """Return the limits of requests to remote sources, for one of so many processes."""
        return FetchLimits(
            concurrency=self.fetch_concurrency,
            rate_per_s=None if self.fetch_rate is None else self.fetch_rate / workers,
            bytes_per_s_min=self.fetch_bytes_per_s_min,
            reaches_private=self.fetch_private,
        )


def list_shared(settings: PipelineSettings) -> dict[str, str]:
    """Return the families whose provider is opened once for all workers, and the provider of each."""
    return {family: spec for family, spec in settings.families.items() if policy(spec) != "cpu"}


def needs_device(settings: PipelineSettings) -> bool:
    """Whether one of the providers uses a GPU."""
    return any(policy(spec) == "gpu" for spec in settings.families.values())


def list_passes(settings: PipelineSettings) -> dict[str, PipelineSettings]:
    """Return the settings of each pass, in their order: what workers compute alone; pages, if a model reads them;
    fields, if a model extracts them; and vectors, if a provider is one for all workers."""
    shared = list_shared(settings) if EMBED in settings.commands else {}
    steps = {family: f"{EMBED}:{family}" for family in settings.families}
    first = msgspec.structs.replace(settings, skipped=tuple(steps[family] for family in shared))
    passes = {RUN: first}
    if settings.convert.model and DOCTAGS in settings.commands:
        passes[READ] = msgspec.structs.replace(first, asks=DOCTAGS)
    if settings.extract.step and EXTRACT in settings.commands:
        passes[EXTRACT] = msgspec.structs.replace(first, asks=settings.extract.step)
    if shared:
        others = tuple(step for family, step in steps.items() if family not in shared)
        passes[MODELS] = msgspec.structs.replace(settings, commands=(EMBED,), skipped=others)
    return passes


class Step(NamedTuple):
    """A step that a file of some kind goes through."""

    name: str
    reads: str
    """The step whose result it reads; empty: it reads the file."""
    settings: str
    """The hash of its settings."""
    failed_settings: str
    """The hash of what the failure of an encrypted file depends on: the settings, and the passwords that were tried."""


class DueStep(msgspec.Struct, array_like=True, frozen=True):
    """A step that a visit may have to run."""

    name: str
    reads: str
    """The step whose result it reads; empty: it reads the file."""
    settings: str
    made_of: bytes = b""
    """The hash of the input of its present result, if that has the same settings: then the step runs only if its input
    is another one. Empty: it runs."""
    output: bytes = b""
    """The hash of its present result, if `made_of` is set."""


class StepTable:
    """The steps for each kind of file, with the settings that hold."""

    def __init__(self, settings: PipelineSettings) -> None:
        self._settings = settings
        self.list_steps = cache(self._list_steps)
        """The steps that a file of a kind goes through, in order."""

    def _list_steps(self, kind: FileKind) -> Sequence[Step]:
        return tuple(
            Step(
                name,
                reads,
                hash_settings(name, version, parts),
                hash_settings(name, version, {**parts, **self._describe_passwords(name, kind)}),
            )
            for name, reads, version, parts in self._describe(kind)
        )

    def describe_settings(self, kind: FileKind) -> Mapping[str, tuple[str, Mapping[str, str]]]:
        """The hash of the settings of each step, and the settings by part."""
        return {
            name: (hash_settings(name, version, parts), {**parts, "version": str(version)})
            for name, _, version, parts in self._describe(kind)
        }

    def describe_failed_settings(self, kind: FileKind) -> Mapping[str, tuple[str, Mapping[str, str]]]:
        """The same for the failure of an encrypted file."""
        found = {}
        for name, _, version, parts in self._describe(kind):
            if passwords := self._describe_passwords(name, kind):
                more = {**parts, **passwords}
                found[name] = hash_settings(name, version, more), {**more, "version": str(version)}
        return found

    def _describe(self, kind: FileKind) -> list[tuple[str, str, int | str, Mapping[str, str]]]:
        settings, fields = self._settings, self._settings.extract
        if kind.role == CODE:
            return [(INDEX, "", index.VERSION, index.settings_of(CODE, kind.kind))]
        if kind.role == ARCHIVE:
            return [(DOCTAGS, "", convert.VERSION, _describe_listing())]
        require(kind.role == DOCUMENT, f"a file of kind {str(kind)!r} goes through no step")
        return [
            (DOCTAGS, "", convert.VERSION, self._describe_document(kind.kind)),
            (CHUNK, DOCTAGS, chunk.VERSION, self._chunk_parts),
            (INDEX, CHUNK, index.VERSION, index.settings_of(DOCUMENT)),
            *(
                (f"{EMBED}:{family}", CHUNK, embed.VERSION, embed.settings_of(family, spec))
                for family, spec in settings.families.items()
            ),
            *([(fields.step, fields.reads, extract.VERSION, fields.describe())] if fields.step else []),
        ]

    def _describe_document(self, kind: str) -> Mapping[str, str]:
        """What the document of a file depends on. A mail or a PDF is listed again whenever an archive would be."""
        parts = convert.settings_of(self._settings.convert, kind)
        return {**parts, **_describe_listing()} if kind in _ATTACHING_KINDS else parts

    def _describe_passwords(self, step: str, kind: FileKind) -> Mapping[str, str]:
        """What the failure of an encrypted file depends on besides the settings of a step: which passwords there are,
        and whether the extra that reads encrypted office files with them is installed."""
        if step != DOCTAGS:
            return {}
        needs_extra = kind.kind in PASSWORD_KINDS
        return {
            "passwords": self._passwords or NO_PASSWORDS,
            **({"decryption": self._decryption} if needs_extra else {}),
        }

    @cached_property
    def _passwords(self) -> str:
        """A hash of the passwords; empty: there are none."""
        try:
            found = read_passwords(self._settings.password_file)
        except OperatorError:
            return ""
        return _hash_passwords(found) if found else ""

    @cached_property
    def _decryption(self) -> str:
        return " ".join(name for name in _DECRYPTING if find_spec(name) is not None)

    @cached_property
    def _chunk_parts(self) -> Mapping[str, str]:
        return chunk.settings_of(self._settings.chunk)

    @cached_property
    def _made(self) -> Collection[str]:
        """The steps of a document."""
        return frozenset((DOCTAGS, CHUNK, INDEX, *(f"{EMBED}:{family}" for family in self._settings.families)))

    def list_dropped(self, kind: FileKind, names: Collection[str]) -> list[str]:
        """Return those of these steps whose results go: vectors of a family that has no provider any more."""
        if kind.role != DOCUMENT or EMBED not in self._settings.commands:
            return []
        return [name for name in names if name not in self._made and name.startswith(f"{EMBED}:")]

    @property
    def asks(self) -> str:
        """The step that a model is asked for in this pass; empty: none."""
        return self._settings.asks

    def has_failed(self, states: Mapping[str, StepState]) -> bool:
        """Whether a step has failed that is not left to another pass."""
        return any(state.category and step not in self._settings.skipped for step, state in states.items())

    def is_enabled(self, step: str) -> bool:
        """Whether this run has a step."""
        return step.partition(":")[0] in self._settings.commands and step not in self._settings.skipped


@lru_cache(maxsize=1)
def _hash_passwords(passwords: tuple[str, ...]) -> str:
    """Return a hash that is slow to compute, so that it helps nobody to guess the passwords."""
    content = "\n".join(sorted(set(passwords))).encode("utf-8", "surrogatepass")
    return pbkdf2_hmac("sha256", content, b"inorder password file", _ROUNDS, 16).hex()


def _describe_listing() -> Mapping[str, str]:
    """What the members of an archive depend on."""
    from inorder.documents.archives.listing import LISTING_VERSION  # with all that unpacks archives

    return {"archives": str(LISTING_VERSION)}
