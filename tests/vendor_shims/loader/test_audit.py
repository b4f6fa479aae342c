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


async def test_source_tells_a_guard_that_cannot_be_imported(w, tmp_path):
    texts = {
        "broken": "guard = True\nx = (",
        "raises": "class Gate:\n    guard: bool = True\nraise ValueError(1)",
        "plain": "safeguard = True\nguard = False\nraise ValueError(2)",
        "commented": "# guard = True\nx = (",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    rows = [{"id": name, "name": str(tmp_path / f"{name}.py")} for name in texts]
    await w.loader.load_rows([*rows, row("no.such")])
    reports = audit(w.loader)
    assert [report.condition for report in reports] == ["failed"] * 5
    assert [report.entry.id for report in required(reports, [])] == ["broken", "raises"]
