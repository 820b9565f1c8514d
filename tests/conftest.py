"""What all tests share: compiled code goes to a folder of the test run, the same for all its workers."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support.sampling import examples, set_depth


def pytest_configure(config: pytest.Config) -> None:
    """Let random tests have fewer examples where deep tests are left out, and as much time as a busy machine takes."""
    set_depth(deep_run=not any(word in config.option.markexpr for word in ("core", "not deep")))
    unhurried = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("whippletree", max_examples=examples(100), **unhurried)
    settings.load_profile("whippletree")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the core be all tests that no mark says otherwise of."""
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("rest", "deep")):
            item.add_marker(pytest.mark.core)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests that live as long as the run: a twentieth of its time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache out of the tests, and the tests out of the user's cache."""
    workers = "PYTEST_XDIST_WORKER" in os.environ  # these have folders of their own within that of the run
    folder = tmp_path_factory.getbasetemp().parent / "cache" if workers else tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHIPPLETREE_CACHE", str(folder))
        yield
