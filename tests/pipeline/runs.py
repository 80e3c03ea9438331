"""Runs of the pipeline on small folders, for tests."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from inorder.library.reader import LibraryReader
from inorder.pipeline.outcome import RunOutcome
from inorder.pipeline.run import RunRequest, run_pipeline
from inorder.pipeline.steps import PipelineSettings
from inorder.stage.options import StageOptions


def write(root: Path, **files: str | bytes) -> None:
    """Write files, whose names may have slashes."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Library:
    """A library in a folder for itself."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.data = data
        self.settings = PipelineSettings(**settings)

    def run(
        self,
        *sources: Path | str,
        retries: bool = False,
        name: str | None = None,
        hints: Sequence[Path | str] | None = None,
        forgets: str = "",
        **options: Any,
    ) -> RunOutcome:
        """Run the pipeline, on threads unless the options say otherwise."""
        fixed = {"data": self.data, "policy": "io", "progress": "none", "telemetry": False, "workers": 2}
        chosen = StageOptions(**{**fixed, **options})
        request = RunRequest(
            sources=tuple(map(str, sources)),
            name=name,
            settings=self.settings,
            options=chosen,
            retries=retries,
            hints=None if hints is None else tuple(map(str, hints)),
            forgets=forgets,
        )
        return run_pipeline(request)

    def read_content_hash(self) -> str:
        """What identifies all that is visible."""
        with closing(LibraryReader(str(self.data))) as reader:
            return reader.read_totals().content_hash

    def read_run_number(self) -> int:
        """The number of the latest pass."""
        with closing(LibraryReader(str(self.data))) as reader:
            return reader.read_run_number()

    def list_searchable(self) -> list[str]:
        """The ids of the files that can be searched."""
        with closing(LibraryReader(str(self.data))) as reader:
            return list(reader.list_visible("index"))

    def list_failures(self) -> list[tuple[str, str, str]]:
        """The id, the step and the category of what has failed."""
        with closing(LibraryReader(str(self.data))) as reader:
            return [(each.item_id, each.step, each.category) for each in reader.list_failures()]

    def list_sources(self) -> list[str]:
        """The names of the sources."""
        with closing(LibraryReader(str(self.data))) as reader:
            return [each.name for each in reader.list_sources()]

    def list_copies(self) -> list[tuple[str, str]]:
        """The id of each copy, and that of its document."""
        with closing(LibraryReader(str(self.data))) as reader:
            return reader.list_copies()


def count_steps(outcome: RunOutcome) -> dict[str, int]:
    """How many files each step has made a result of."""
    return {step: totals.files for step, totals in outcome.steps.items() if totals.files}
