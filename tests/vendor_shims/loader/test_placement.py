"""Rows that isolate services and put config layers on them, also while they run."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.cordis import Context, FiberState, ServiceConflict
from vendor_shims.loader import EntryError


def row(name: str, **options: Any) -> dict[str, Any]:
    return {"id": name, "name": name, **options}


def group(entry_id: str, *inner: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {
        "id": entry_id,
        "name": "cordis:group",
        "group": True,
        "config": list(inner),
        **options,
    }


@pytest.fixture
async def w(w):
    """Add a provider and two consumers of a service `db`, and one of a service nobody has."""
    w.plugin("db", provides="db")
    w.plugin("db2", provides="db")
    w.plugin("uses", inject=["db"])
    w.plugin("uses2", inject=["db"])
    return w


@pytest.mark.spec("01-I19")
async def test_layers_of_all_groups_reach_the_plugin_in_order(w):
    seen: list[Any] = []

    def apply(ctx: Context) -> None:
        seen.append(ctx.intercept_layers("conf"))

    w.loader.resolver.register("reads", apply)
    inner = group("in", row("reads", intercept={"conf": {"c": 3}}), intercept={"conf": {"b": 2}})
    await w.loader.update_rows([group("out", inner, intercept={"conf": {"a": 1}})])
    assert seen == [[{"a": 1}, {"b": 2}, {"c": 3}]]
    await w.loader.update("in", {"intercept": None})
    assert w.fiber("reads").ctx.intercept_layers("conf") == [{"a": 1}, {"c": 3}]
    assert len(seen) == 1


@pytest.mark.spec("01-I20")
async def test_isolating_a_consumer_reloads_it_only_when_it_matters(w):
    await w.loader.update_rows([row("db"), row("uses")])
    await w.settle()
    w.taken()
    await w.loader.update("uses", {"isolate": {"db": True}})
    await w.settle()
    assert w.taken() == ["-uses"]
    await w.loader.update("uses", {"isolate": {"db": True, "other": True}})
    await w.settle()
    assert w.taken() == []
    await w.loader.update("uses", {"isolate": {"other": True}})
    await w.settle()
    assert w.taken() == ["+uses"]
    await w.loader.update("uses", {"isolate": None})
    await w.settle()
    assert w.taken() == []


@pytest.mark.spec("01-I20")
async def test_isolating_a_provider_moves_its_binding(w):
    await w.loader.update_rows([row("db"), row("uses")])
    await w.settle()
    w.taken()
    await w.loader.update("db", {"isolate": {"db": True}})
    await w.settle()
    assert w.taken() == ["-uses"]
    assert w.root.get("db") is None
    await w.loader.update("db", {"isolate": {"db": True, "other": True}})
    await w.settle()
    assert w.taken() == []
    await w.loader.update("db", {"isolate": {"other": True}})
    await w.settle()
    assert w.taken() == ["+uses"]
    await w.loader.update("db", {"isolate": None})
    await w.settle()
    assert w.taken() == []


@pytest.mark.spec("01-I21")
async def test_private_realms_keep_two_groups_apart(w):
    w.plugin("outside", inject=["db"])
    await w.loader.update_rows(
        [
            group("one", row("db", config=1), row("uses"), isolate={"db": True}),
            group("two", row("db2", config=2), row("uses2"), isolate={"db": True}),
            row("outside"),
        ]
    )
    await w.settle()
    assert w.seen["uses"] == [1]
    assert w.seen["uses2"] == [2]
    assert w.fiber("outside").state is FiberState.PENDING
    assert w.root.get("db") is None


@pytest.mark.spec("01-I22")
async def test_label_is_shared_between_a_group_and_a_row_elsewhere(w):
    w.plugin("alone", inject=["db"])
    await w.loader.update_rows(
        [
            group(
                "g", row("db", config=1), row("alone", isolate={"db": True}), isolate={"db": "x"}
            ),
            row("uses", isolate={"db": "x"}),
        ]
    )
    await w.settle()
    assert w.seen["uses"] == [1]
    assert w.fiber("alone").state is FiberState.PENDING
    assert len(w.loader.labels) == 1
    await w.loader.update_rows([])
    assert len(w.loader.labels) == 0


@pytest.mark.spec("01-I23")
async def test_outer_group_that_takes_the_label_of_its_inner_group_changes_nothing(w):
    inner = group("in", row("db", config=1), row("uses"), isolate={"db": "x"})
    await w.loader.update_rows([group("out", inner)])
    await w.settle()
    w.taken()
    await w.loader.update("out", {"isolate": {"db": "x"}})
    await w.settle()
    await w.loader.update("in", {"isolate": None})
    await w.settle()
    await w.loader.update("in", {"isolate": {"db": "x"}})
    await w.loader.update("out", {"isolate": None})
    await w.settle()
    assert w.taken() == []
    assert w.fiber("uses").ctx.db == 1


@pytest.mark.spec("01-I24")
async def test_other_label_of_a_consumer_group_reloads_its_consumer_once(w):
    await w.loader.update_rows(
        [
            group("a", row("db", config="alpha"), isolate={"db": "alpha"}),
            group("b", row("db2", config="beta"), isolate={"db": "beta"}),
            group("c", row("uses"), isolate={"db": "alpha"}),
        ]
    )
    await w.settle()
    w.taken()
    await w.loader.update("c", {"isolate": {"db": "beta"}})
    await w.settle()
    assert w.taken() == ["-uses", "+uses"]
    assert w.seen["uses"] == ["alpha", "beta"]


@pytest.mark.spec("01-I25")
async def test_other_label_of_a_provider_group_leaves_the_provider_alone(w):
    await w.loader.update_rows(
        [
            group("p", row("db", config=1), isolate={"db": "old"}),
            group("o", row("uses"), isolate={"db": "old"}),
            group("n", row("uses2"), isolate={"db": "new"}),
        ]
    )
    await w.settle()
    w.taken()
    await w.loader.update("p", {"isolate": {"db": "new"}})
    await w.settle()
    assert sorted(w.taken()) == ["+uses2", "-uses"]
    assert w.fiber("uses2").ctx.db == 1


@pytest.mark.spec("01-I26")
@pytest.mark.parametrize("moved", ["db", "uses"])
async def test_moving_one_of_a_pair_separates_and_reunites_it(w, moved):
    await w.loader.update_rows([row("db"), row("uses"), group("g", isolate={"db": True})])
    await w.settle()
    w.taken()
    await w.loader.update(moved, {}, parent="g")
    await w.settle()
    assert w.taken() == ["-uses"]
    await w.loader.update(moved, {}, parent=None)
    await w.settle()
    assert w.taken() == ["+uses"]
    await w.loader.update(moved, {}, parent="g")
    await w.loader.update("db" if moved == "uses" else "uses", {}, parent="g")
    await w.settle()
    assert w.taken() == ["-uses", "+uses"]


async def test_provider_that_would_meet_another_stays_where_it_is(w):
    await w.loader.update_rows([row("db"), row("db2", isolate={"db": True}), row("uses")])
    await w.settle()
    w.taken()
    with pytest.raises(EntryError) as caught:
        await w.loader.update("db2", {"isolate": None})
    assert isinstance(caught.value.__cause__, ServiceConflict)
    assert w.entry("db2").options["isolate"] == {"db": True}
    assert w.taken() == []
    assert w.fiber("uses").ctx.db == "db"


async def test_two_providers_can_change_places(w):
    await w.loader.update_rows(
        [
            group("g", row("db", isolate={"db": "x"}), row("db2", isolate={"db": "y"})),
            row("uses", isolate={"db": "x"}),
        ]
    )
    await w.settle()
    await w.loader.update("db2", {"isolate": {"db": "z"}})
    await w.loader.update("db", {"isolate": {"db": "y"}})
    await w.loader.update("db2", {"isolate": {"db": "x"}})
    await w.settle()
    assert w.seen["uses"] == ["db", "db2"]
