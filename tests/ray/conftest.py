"""One local Ray with two workers for the tests of this folder, started with a secret in the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from argus.cluster import Pool, pool_of


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'argus-kernels[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_PROVIDER_API_KEY", "a secret")
        patch.setenv("RAY_LIKE_TOKEN", "a secret")
        patch.setenv("ARGUS_TEST_NAME", "no secret")
        opened = pool_of("local", workers=2)
    with opened:
        yield opened
