"""What a worker opens once and uses for many files."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inorder.documents.chunk.tokens import load_counter
from inorder.documents.convert.resources import Resources
from inorder.documents.readers.passwords import read_passwords
from inorder.engines.base import count_cpus
from inorder.errors import IntegrityError, OperatorError
from inorder.runtime.identity import hash_strings
from inorder.sources.fetching import Fetcher, FetchLimits
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, StageOutcome

from .steps import CHUNK, PipelineSettings
from .visit import RESOURCES

if TYPE_CHECKING:
    from inorder.library.reader import LibraryReader


class VisitResources:
    """The resources of one worker process. Everything is opened with the first file that needs it."""

    def __init__(self, settings: PipelineSettings, data: str, staging: str, workers: int = 1) -> None:
        """`workers` is the number of processes that share the rate of requests to remote sources."""
        self._settings = settings
        self._data = data
        self._staging = staging
        self._workers = workers
        self._providers: dict[str, Any] = {}
        self.shared: dict[str, Any] = {}
        """Providers that were opened for all workers, by family."""
        self.embedded: dict[tuple[str, str], Any] = {}
        """Vectors of files whose group was embedded, by id and family."""
        self._library: LibraryReader | None = None

    @cached_property
    def convert(self) -> Resources:
        """What the readers of documents need."""
        return Resources(read_passwords(self._settings.password_file))

    @cached_property
    def fetcher(self) -> Fetcher:
        """What reads objects of remote sources."""
        rate = self._settings.fetch_rate
        share = None if rate is None else rate / self._workers
        return Fetcher(FetchLimits(concurrency=self._settings.fetch_concurrency, rate_per_s=share))

    @cached_property
    def count_tokens(self) -> Callable[[str], int]:
        """The counter of tokens that chunks are measured with."""
        return load_counter(self._settings.chunk.tokenizer)

    def open_provider(self, family: str) -> tuple[Any, str]:
        """Return the provider of a family of vectors, and how it was opened. Raises StageError if it cannot be."""
        from inorder.documents.embed.providers.registry import open_dense, open_sparse

        spec = self._settings.families[family]
        if family in self.shared:
            return self.shared[family], spec
        if family not in self._providers:
            try:
                limits = self._settings.server
                self._providers[family] = open_dense(spec, limits) if family == "dense" else open_sparse(spec)
            except OperatorError as error:
                raise StageError(f"cannot open the {family} provider: {error}", category="config") from None
        return self._providers[family], spec

    @contextmanager
    def mark_parsing(self, item_id: str) -> Iterator[bool]:
        """Mark a file while it is parsed. Yields whether to use its grammar: not if an earlier attempt crashed in it,
        or took too long."""
        from inorder.engines.attempt import get_attempt
        from inorder.index.parse_marks import is_marked, mark_parsing

        marker = f"{self._staging}/parsing-{hash_strings(item_id)}"
        if get_attempt() != 1 and is_marked(marker):
            yield False
            return
        with mark_parsing(marker):
            yield True

    def read_result(self, item_id: str, step: str, output: bytes) -> tuple[bytes, Sequence[str]]:
        """Return the content and the texts of a committed result. Raises StageError if it is not the expected one."""
        from inorder.library.reader import LibraryReader

        if self._library is None:
            self._library = LibraryReader(os.fspath(self._data))
        try:
            found = self._library.read_committed(item_id, step)
        except IntegrityError as error:
            raise StageError(f"the result of {step} is damaged: {error}; run with --force", category="io") from None
        if found is None or found.output != output:
            raise StageError(f"the result of {step} changed while it was read", category="io", retryable=True)
        return found.content, found.texts

    def read_chunk_texts(self, item_id: str, outputs: Mapping[str, bytes]) -> Sequence[str]:
        """Return the texts of the chunks of a file. Raises StageError as `read_result` does."""
        return self.read_result(item_id, CHUNK, outputs[CHUNK])[1]

    def close(self) -> None:
        """Close what is open."""
        if self._library is not None:
            self._library.close()
        for provider in self._providers.values():
            provider.close()
        if "fetcher" in self.__dict__:
            self.fetcher.close()


class ResourceHooks:
    """Gives every worker its resources, and closes those of the driver at the end. Sent to every worker process,
    without what is open in the driver."""

    def __init__(self, settings: PipelineSettings, staging: str) -> None:
        self._settings = settings
        self._staging = staging
        self._opened: VisitResources | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def open(self, context: StageContext) -> None:
        """Give a worker its resources."""
        workers = context.options.workers or count_cpus()
        resources = VisitResources(self._settings, os.fspath(context.data), self._staging, workers)
        self._opened = context.resources[RESOURCES] = resources

    def close(self, outcome: StageOutcome) -> None:
        """Close the resources of the driver, whose threads may have been workers."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
