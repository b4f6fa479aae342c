"""Which companions run, and that each package has one."""

from __future__ import annotations

import pytest

from harness.invariants import InvariantError, Invariants, InvariantsConfig
from vendor_shims.cordis import Context, Fiber, FiberState, ValidationError
from vendor_shims.testing import kernel


async def mounted(made, **config: object) -> Invariants:
    made.root.plugin(Invariants, config)
    await made.settle()
    return made.root.require("invariants")


@pytest.mark.spec("03-199")
@pytest.mark.parametrize(
    ("config", "runs"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"package_allowlist": ["^harness\\."]}, True),
        ({"package_allowlist": ["^other$", "session$"]}, True),
        ({"package_allowlist": ["SESSION"]}, False),
        ({"package_allowlist": []}, False),
        ({"package_blocklist": ["session"]}, False),
        ({"package_blocklist": ["^session"]}, True),
        ({"package_allowlist": ["session"], "package_blocklist": ["harness"]}, False),
    ],
    ids=repr,
)
async def test_the_configuration_selects_packages_and_reserves_all_names(config, runs):
    async with kernel() as made:
        service = await mounted(made, **config)
        seen: list[Context] = []
        fiber = service.register("harness.session", seen.append)
        await made.settle()
        assert bool(seen) == runs == (fiber is not None)
        with pytest.raises(InvariantError, match="registered already") as caught:
            service.register("harness.session", lambda _: None)
        assert caught.value.package == "harness.session"
        assert caught.value.code == "INVARIANT"


@pytest.mark.spec("03-199")
@pytest.mark.parametrize(
    "config",
    [
        {"package_allowlist": ["("]},
        {"package_allowlist": [" x"]},
        {"package_blocklist": ["x", "x"]},
        {"package_blocklist": [""]},
        {"package_blocklist": ["  "]},
    ],
    ids=repr,
)
async def test_a_wrong_pattern_is_a_configuration_error(config):
    async with kernel() as made:
        fiber = made.root.plugin(Invariants, config)
        await made.settle()
        assert fiber.state is FiberState.FAILED
        assert isinstance(fiber.error, ValidationError)
        assert made.root.get("invariants") is None


def test_every_wrong_pattern_is_named():
    config = InvariantsConfig(package_allowlist=["a", "("], package_blocklist=["b", "b", ""])
    with pytest.raises(ValidationError) as caught:
        config.check_patterns()
    assert [issue.path for issue in caught.value.issues] == [
        ("package_allowlist", 1),
        ("package_blocklist", 1),
        ("package_blocklist", 2),
    ]


async def test_a_companion_ends_with_the_plugin_that_registered_it():
    async with kernel() as made:
        service = await mounted(made)
        ends: list[str] = []

        def owner(ctx: Context) -> None:
            ctx.require("invariants").register("p", lambda _: lambda: ends.append("p"))

        for _ in range(2):
            fiber = made.root.inject(["invariants"], owner)
            await made.settle()
            with pytest.raises(InvariantError):
                service.register("p", lambda _: None)
            await fiber.dispose()
        assert ends == ["p", "p"]


async def test_a_companion_that_cannot_be_installed_frees_its_name():
    async with kernel() as made:
        service = await mounted(made)
        children: list[Fiber | None] = []

        def owner(ctx: Context) -> None:
            def fail(_: Context) -> None:
                raise ValueError("cannot watch")

            children.append(ctx.require("invariants").register("p", fail))

        fiber = made.root.inject(["invariants"], owner)
        await made.settle()
        (child,) = children
        assert child is not None
        assert child.state is FiberState.FAILED
        assert "cannot watch" in str(child.error)
        service.register("p", lambda _: None)
        await fiber.dispose()  # the end of the failed registration leaves the new one alone
        with pytest.raises(InvariantError):
            service.register("p", lambda _: None)


def test_an_error_says_whose_rule_it_is():
    assert str(InvariantError("wrong", package="p", rule="S7")) == "[p S7] wrong"
    error = InvariantError("wrong", package="p")
    assert (str(error), error.package, error.rule) == ("[p] wrong", "p", "")
