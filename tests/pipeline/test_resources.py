"""What a worker opens once, for all of its threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from inorder.pipeline.resources import VisitResources
from inorder.pipeline.steps import PipelineSettings

THREADS = 8


@pytest.mark.req("DOC-3")
def test_threads_that_need_a_provider_at_once_share_one() -> None:
    resources = VisitResources(PipelineSettings())
    start = Barrier(THREADS)

    def open_provider(_: int) -> int:
        start.wait()
        return id(resources.open_provider("dense")[0])

    with ThreadPoolExecutor(THREADS) as threads:
        assert len(set(threads.map(open_provider, range(THREADS)))) == 1
    resources.close()
