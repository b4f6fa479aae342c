"""What is said about the rows of a tree after it was loaded."""

from __future__ import annotations

from vendor_shims.loader import audit, required


def row(entry_id, **options):
    return {"id": entry_id, "name": entry_id, **options}


async def test_every_row_is_reported_with_its_reason(w):
    w.plugin("bad", fails=lambda _: True)
    w.plugin("needs", inject=["bad-service"])
    await w.loader.load_rows(
        [row("foo"), row("bad"), row("needs"), row("bar", disabled=True), row("no.such")]
    )
    reports = audit(w.loader)
    assert [report.condition for report in reports] == [
        "active",
        "failed",
        "waiting",
        "disabled",
        "failed",
    ]
    assert [report.reason for report in reports[:4]] == [
        "",
        "bad does not like None",
        "bad-service (nothing provides it)",
        "",
    ]
    assert reports[4].reason.startswith("no plugin 'no.such'")


async def test_what_a_row_needs_is_required_and_so_is_every_guard(w):
    w.plugin("db", provides="db")
    w.plugin("store", provides="store", inject=["db", "never"])
    w.plugin("surface", inject=["store"])
    guard = w.plugin("guard", inject=["never"])
    guard.guard = True
    store = w.plugin("store", provides="store", inject=["db", "never"])
    store.provide = "store"
    await w.loader.load_rows([row("db"), row("store"), row("surface"), row("guard"), row("foo")])
    names = [report.entry.id for report in required(audit(w.loader), ["surface"])]
    assert names == ["db", "store", "surface", "guard"]
