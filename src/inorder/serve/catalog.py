"""The DATA directories that are served, by name."""

import os
from collections.abc import Mapping, Sequence

from inorder.dataset.dataset import Dataset
from inorder.errors import OperatorError
from inorder.stage.monitor.prometheus import name_data

from .problems import NotFound


class Catalog:
    """Datasets by a short name that is unique: that of the directory or, for `.inorder`, of the one above it."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._datasets: dict[str, Dataset] = {}
        for path in dict.fromkeys(os.path.realpath(path) for path in paths):
            dataset = Dataset(path)
            if not os.access(path, os.R_OK | os.X_OK):
                raise OperatorError(f"DATA cannot be read: {path}")
            self._datasets[_choose_name(path, self._datasets)] = dataset

    @property
    def names(self) -> list[str]:
        """The names, in the order in which the directories were given."""
        return list(self._datasets)

    def get(self, name: str) -> Dataset:
        """The dataset of this name; without one, the first. Raises NotFound if there is none."""
        found = self._datasets.get(name or self.names[0])
        if found is None:
            raise NotFound(f"no DATA is served as {name!r}; served: {', '.join(self.names)}")
        return found


def _choose_name(path: str, taken: Mapping[str, Dataset]) -> str:
    base = name_data(path)
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}~{number}"
    return name
