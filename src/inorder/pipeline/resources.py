"""What a worker opens once and uses for many files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any

from inorder.documents.chunk.tokens import load_counter
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import require_readers
from inorder.documents.readers.passwords import read_passwords
from inorder.engines.base import count_cpus
from inorder.errors import OperatorError, require
from inorder.host.credentials import keep_credentials, list_credentials
from inorder.library.reader import LibraryReader
from inorder.runtime.identity import hash_strings
from inorder.sources.fetching import Fetcher
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, StageOutcome

from .sources.addressed import ResultInput, decode_result
from .steps import PipelineSettings
from .visit import RESOURCES


def require_usable(settings: PipelineSettings) -> None:
    """Raise OperatorError if a file cannot be processed with these settings: a package or a file that they need is
    missing, or a provider is unknown."""
    from inorder.documents.embed.providers.registry import identity, require_family

    require_readers(settings.convert)
    read_passwords(settings.password_file)
    load_counter(settings.chunk.tokenizer)
    for family, spec in settings.families.items():
        require_family(spec, family)
        identity(spec)
    require(
        settings.fetch_rate is None or settings.fetch_rate > 0,
        f"fetch_rate must be above 0, got {settings.fetch_rate}",
    )


class VisitResources:
    """The resources of one worker process, whose threads share them. Everything is opened with the first file that
    needs it."""

    def __init__(self, settings: PipelineSettings, workers: int = 1) -> None:
        """`workers` is the number of processes that share the rate of requests to remote sources."""
        self._settings = settings
        self._workers = workers
        self._providers: dict[str, Any] = {}
        self._opening = Lock()
        """Held while a provider is opened: worker threads share it, and CPython 3.11 cannot parse the headers of NumPy
        files in two threads at once (`SystemError: AST constructor recursion depth mismatch`)."""
        self.shared: dict[str, Any] = {}
        """Providers that were opened for all workers, by family."""
        self.embedded: dict[tuple[str, str], tuple[Any, float]] = {}
        """Vectors of files whose group was embedded, by id and family, and the milliseconds that each took."""
        self._library: LibraryReader | None = None

    @cached_property
    def convert(self) -> Resources:
        """What the readers of documents need."""
        return Resources(read_passwords(self._settings.password_file))

    @cached_property
    def fetcher(self) -> Fetcher:
        """What reads objects of remote sources."""
        return Fetcher(self._settings.limit_fetches(self._workers))

    @cached_property
    def count_tokens(self) -> Callable[[str], int]:
        """The counter of tokens that chunks are measured with."""
        return load_counter(self._settings.chunk.tokenizer)

    def open_provider(self, family: str) -> tuple[Any, str]:
        """Return the provider of a family of vectors, and how it was opened. Raises StageError if it cannot be."""
        spec = self._settings.families[family]
        found = self.shared.get(family, self._providers.get(family))
        if found is not None:
            return found, spec
        from inorder.documents.embed.providers.registry import open_dense, open_sparse

        with self._opening:
            if family not in self._providers:
                try:
                    limits = self._settings.limit_server()
                    self._providers[family] = open_dense(spec, limits) if family == "dense" else open_sparse(spec)
                except OperatorError as error:
                    raise StageError(f"cannot open the {family} provider: {error}", category="config") from None
        return self._providers[family], spec

    @contextmanager
    def mark_parsing(self, item_id: str, staging: str) -> Iterator[bool]:
        """Mark a file while it is parsed, in the folder `staging`. Yields whether to use its grammar: not if an earlier
        attempt crashed in it, or took too long."""
        from inorder.engines.attempt import get_attempt
        from inorder.index.parse_marks import is_marked, mark_parsing

        marker = f"{staging}/parsing-{hash_strings(item_id)}"
        if get_attempt() != 1 and is_marked(marker):
            yield False
            return
        with mark_parsing(marker):
            yield True

    def read_result(self, source: ResultInput) -> tuple[bytes, Sequence[str]]:
        """Return the content and the texts of a result. Raises StageError if it is not the expected one."""
        if source.content is not None:
            return decode_result(source.content)
        if self._library is None:
            self._library = LibraryReader(source.data)
        return source.load(self._library)

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

    def __init__(self, settings: PipelineSettings) -> None:
        self._settings = settings
        self._opened: VisitResources | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None, "_credentials": list_credentials()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        keep_credentials(state.pop("_credentials"))
        self.__dict__.update(state)

    def open(self, context: StageContext) -> None:
        """Give a worker its resources."""
        workers = context.options.workers or count_cpus()
        resources = VisitResources(self._settings, workers)
        self._opened = context.resources[RESOURCES] = resources

    def close(self, outcome: StageOutcome) -> None:
        """Close the resources of the driver, whose threads may have been workers."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
