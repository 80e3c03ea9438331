"""Settings shared by every test."""

import gc
import multiprocessing
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests.support.gates import no_thread_leaks

# A red test must be red again on the next run and on the next machine. `make properties` draws other examples.
settings.register_profile("inorder", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("fresh", derandomize=False, deadline=None, print_blob=True, database=None)
settings.load_profile("inorder")

# A shell starts what runs in the background with Ctrl-C ignored, and programs respect that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep modules and collected tests, which live to the end, away from the garbage collector: in this process, and in
    those that tests fork, where it would copy them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests, and the commands that they start, neither read nor write the configuration of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        yield


@pytest.fixture
def young_garbage() -> None:
    """Have the garbage collector look at what the test makes, and not at all that other tests have loaded: a test that
    collects again and again would take half a minute."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """The test must leave neither threads nor worker processes behind."""
    with no_thread_leaks():
        yield
    assert multiprocessing.active_children() == []
