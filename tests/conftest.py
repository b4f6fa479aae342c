"""Set what holds for every test: the event loop, the search profiles, and no network."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

from house import network_guard
from house.tree import Tree, is_for_tests

network_guard.install()

# Contract suites are shipped code, but their failures should read like those of tests.
pytest.register_assert_rewrite(*filter(is_for_tests, Tree().public_roots()))

# Shared machines pause at any point, so no example has a time limit of its own.
settings.register_profile(
    "ci",
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    parent=settings.get_profile("ci"),
    max_examples=5_000,
    stateful_step_count=120,
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the only event loop the kernel speaks."""
    return "asyncio"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each property as `fuzz`, so that `make fuzz` finds all of them."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.fuzz)
