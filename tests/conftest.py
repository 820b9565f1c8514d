"""What all tests share: compiled code goes to a folder of the test run, one for each worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache out of the tests, and the tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHIPPLETREE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
