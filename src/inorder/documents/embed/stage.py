"""The stage `embed`: the chunks of every document become vectors, one table a document and family.

An item is one document in one family, so that another dense provider redoes dense vectors and nothing else. When all of
them are committed, the statistics of the corpus are brought up to date: the item `__corpus__` depends on exactly the
tables of terms that are there, and is skipped when none of them has changed.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from inorder.documents.layout import list_chunk_files, list_outputs
from inorder.errors import require
from inorder.runtime.identity import digest_of
from inorder.stage.contracts import (
    Barrier,
    Configurable,
    Stage,
    StageHooks,
    StageOptions,
    StagePlan,
    WorkItem,
)
from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.fingerprints import decode_fingerprint

from .lexical import VERSION as LEXICAL_VERSION
from .providers.registry import identity, policy
from .worker import close_providers, open_providers, open_shared, work

NAME = "embed"
FOLDER = "vectors"
CORPUS = "__corpus__"
STATISTICS = f"{FOLDER}/{CORPUS}.parquet"
SCHEMA_VERSION = 1
_BYTES_PER_COST = 10_000
_NONE = "none"


class EmbedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which vectors are made, and by whom."""

    dense: str = "hash"
    """The provider of dense vectors; `none`: there are none."""
    sparse: str = _NONE
    """The provider of sparse vectors; `none`: there are none."""
    lexical: bool = True
    """Whether terms are counted."""

    def __post_init__(self) -> None:
        require(bool(self.families), "at least one of dense, sparse and lexical must be wanted")

    @property
    def families(self) -> dict[str, str]:
        """Those that are made, and who makes each."""
        wanted = {"dense": self.dense, "sparse": self.sparse}
        found = {family: spec for family, spec in wanted.items() if spec != _NONE}
        return found | ({"lexical": "terms"} if self.lexical else {})


def make(settings: EmbedSettings) -> Stage:
    """The stage with these settings."""
    providers = {family: spec for family, spec in settings.families.items() if family != "lexical"}
    policies = {policy(spec) for spec in providers.values()} or {"cpu"}
    runs_in_processes = policies == {"cpu"}
    opened: list[object] = []
    opening = partial(open_providers, providers, opened)
    return Stage(
        name=NAME,
        plan=partial(plan, settings, _configurations(settings)),
        worker=work,
        hooks=StageHooks(
            worker_setup=opening,
            before_stage=partial(open_shared, opening),
            after_stage=partial(close_providers, opened),
        ),
        options=StageOptions(policy="cpu" if runs_in_processes else "gpu" if "gpu" in policies else "io"),
    )


stage = Configurable(settings=EmbedSettings, make=make)


def _configurations(settings: EmbedSettings) -> dict[str, str]:
    """By family, what its vectors depend on besides the chunks."""
    makers = {
        family: str(LEXICAL_VERSION) if family == "lexical" else identity(spec)
        for family, spec in settings.families.items()
    }
    return {family: digest_of(NAME, str(SCHEMA_VERSION), family, maker) for family, maker in makers.items()}


def plan(settings: EmbedSettings, configurations: dict[str, str], sources: list[Path], data: Path) -> StagePlan:
    """Every document that has chunks. What has none any more loses its vectors."""
    items = _Items(settings.families, configurations, os.path.abspath(data))
    return StagePlan(NAME, items, retires=lambda *_: True, expected_items=items.count())


class _Items:
    """The items, as often as they are wanted."""

    def __init__(self, families: dict[str, str], configurations: dict[str, str], data: str) -> None:
        self._families = families
        self._configurations = configurations
        self._data = data

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        for found in list_chunk_files(self._data):
            for family, configuration in self._configurations.items():
                yield WorkItem(
                    item_id=f"{family}/{found.doc_id}",
                    inputs={"chunks": found.path},
                    outputs={"vectors": f"{FOLDER}/{family}/{found.doc_id}.parquet"},
                    cfg_hash=configuration,
                    cost_hint=1.0 + found.size / _BYTES_PER_COST,
                    meta={"family": family, "spec": self._families[family]},
                    batch_key=family,
                )
        if "lexical" in self._configurations:
            yield Barrier()
            yield WorkItem(
                item_id=CORPUS,
                outputs={"statistics": STATISTICS},
                cfg_hash=self._corpus(),
                meta={"family": CORPUS},
                reads=("chunks", f"{FOLDER}/lexical"),
            )

    def count(self) -> int:
        """Items, about."""
        return sum(1 for _ in list_chunk_files(self._data)) * len(self._configurations) + 1

    def _corpus(self) -> str:
        """What the statistics depend on: every table of terms, as its fingerprint has it."""
        wanted = {f"lexical/{found.doc_id}" for found in list_chunk_files(self._data)}
        said = [NAME, str(SCHEMA_VERSION)]
        for found in list_outputs(self._data, f"{FOLDER}/lexical", FINGERPRINT_SUFFIX):
            fingerprint = decode_fingerprint(Path(found.path).read_bytes())
            if fingerprint is not None and fingerprint.item_id in wanted:
                said.append(f"{fingerprint.item_id} {fingerprint.outputs['vectors'].crc32}")
        return digest_of(*said)
