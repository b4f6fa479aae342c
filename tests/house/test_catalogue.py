"""The catalogues say what the sources say, and notice when they do not."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from catalogue import errors, events, modules, plugin_config, services, session_events, tools
from catalogue.markdown import block, code, table
from catalogue.names import Names, Symbol
from catalogue.pages import build
from catalogue.plugins import Offer, offers
from catalogue.schema_words import words
from house.tree import ROOT, Tree
from vendor_shims.schema import Secret, config, field, json_schema

Build = Callable[[dict[str, str]], Tree]

CORDIS = {
    "vendor_shims/__init__.py": "",
    "vendor_shims/cordis/__init__.py": (
        "from .errors import CordisError\nfrom .events import Emit, Waterfall\n"
        "from .service import Service\n"
    ),
    "vendor_shims/cordis/errors.py": "class CordisError(Exception):\n    code = 'CORDIS'\n",
    "vendor_shims/cordis/events.py": "class Emit: ...\nclass Waterfall: ...\n",
    "vendor_shims/cordis/service.py": "class Service: ...\n",
}


@pytest.fixture
def names_of(tree_of: Build) -> Callable[[dict[str, str]], Names]:
    """Read small packages beside a kernel that has only names."""
    return lambda files: Names(tree_of(CORDIS | files))


Read = Callable[[dict[str, str]], Names]


def test_a_name_is_followed_through_roots_aliases_and_modules(names_of: Read) -> None:
    names = names_of(
        {
            "harness/a/__init__.py": "from harness.a.inner import X, Y\n",
            "harness/a/inner.py": "X = 'x'\nY: str = 'y'\n",
            "harness/b.py": (
                "from harness.a import X as Z\nimport harness.a as log\nfrom harness import a\n"
            ),
        }
    )
    lookups = {"Z": "X", "log.Y": "Y", "a.X": "X"}
    for written, meant in lookups.items():
        node = ast.parse(written, mode="eval").body
        assert names.resolve("harness.b", node) == Symbol("harness.a.inner", meant)
    assert names.resolve("harness.b", ast.parse("gone.X", mode="eval").body) is None


def test_names_that_import_each_other_lead_nowhere(names_of: Read) -> None:
    names = names_of(
        {"harness/a.py": "from harness.b import X\n", "harness/b.py": "from harness.a import X\n"}
    )
    assert names.resolve("harness.a", ast.Name("X")) is None


EVENT_FILES = {
    "harness/a/__init__.py": "from harness.a.events import DONE, ASK\n",
    "harness/a/events.py": (
        "from vendor_shims.cordis import Emit, Waterfall\n"
        "class Told:\n    who: str\n    how: 'int | None' = None\n"
        'DONE = Emit[[Told, "Later"]]("a/done", contain=True, doc="It is done.\\n\\nMore.")\n'
        'ASK = Waterfall[[str], bool]("a/ask", is_async=True)\n"""Ask | whether."""\n'
        'NEVER = Emit[[]]("a/never")\n'
    ),
    "harness/a/say.py": (
        "from harness.a.events import DONE\n"
        "class Teller:\n"
        "    def tell(self, event, payload):\n        self.ctx.emit(event, payload)\n"
        "    def again(self, event):\n        self.tell(event, 1)\n"
        "    def done(self):\n        self.again(DONE)\n"
    ),
    "plugins/harness_plugins/p.py": (
        "from harness import a\n"
        "def apply(ctx):\n"
        "    ctx.on('a/done', print)\n    ctx.once(a.ASK, print)\n"
        "    ctx.waterfall(a.ASK, 1, inner=print)\n    print(a.DONE)\n"
    ),
    "harness/a/testing.py": "def f(ctx):\n    ctx.on('a/never', print)\n",
}


def test_events_have_payload_fields_emitters_and_listeners(names_of: Read) -> None:
    text = events.render(names_of(EVENT_FILES))
    assert "3 events." in text
    done = text[text.index("### `a/done`") :].split("### ")[1]
    assert "\nIt is done.\n" in done
    assert "- mode: emit, contained\n" in done
    assert "- payload: `Told`, `Later`\n" in done
    assert "- fields of `Told`: `who: str`, `how: 'int | None'`\n" in done
    assert "- dispatched by: `harness.a`\n" in done, "through two functions that hand it on"
    assert "- heard by: `harness_plugins.p`" in done, "by its name as a text"
    ask = text[text.index("### `a/ask`") :].split("### ")[1]
    assert "Ask | whether." in ask
    assert "- answer: `bool`\n- dispatched by: `harness_plugins.p`\n" in ask
    never = text[text.index("### `a/never`") :]
    assert "- payload: nothing\n- dispatched by: none\n- heard by: none" in never


SERVICE_FILES = {
    "harness/a/__init__.py": "from harness.a.service import Store\n",
    "harness/a/service.py": (
        "from vendor_shims.cordis import Service\n"
        'class Mixin:\n    def more(self): "Give more."\n'
        "class Store(Mixin, Service):\n"
        '    """Keep things.\n\n    Long."""\n'
        "    key: str = 'store'\n"
        "    async def get(self, name: str, *, deep: bool = False) -> 'str | None':\n"
        '        """Return one."""\n'
        "    @property\n    def size(self) -> int: ...\n"
        "    @overload\n    def put(self, a: int) -> int: ...\n"
        "    @overload\n    def put(self, a: str) -> str: ...\n"
        "    def put(self, a):\n        'Put it.'\n"
        "    def _hidden(self): ...\n"
        "    def start(self): ...\n"
    ),
    "plugins/harness_plugins/p.py": (
        "from harness.a import Store\nclass Disk(Store):\n    def get(self, name): ...\n"
        "class Fast(Disk):\n    key = 'store'\n"
    ),
    "harness/nothing.py": "class Plain: ...\n",
}


def test_services_list_calls_and_back_ends(names_of: Read) -> None:
    text = services.render(names_of(SERVICE_FILES))
    assert "1 services." in text
    assert (
        "| [`store`](#store) | `Store` | `harness.a` |"
        " `harness_plugins.p:Disk`, `harness_plugins.p:Fast` |" in text
    )
    assert "`harness.a.service.Store`: Keep things.\n" in text
    rows = [line for line in text.split("\n") if line.startswith("| `")]
    assert rows == [
        "| `async get(name: str, *, deep: bool=False) -> str \\| None` | Return one. |",
        "| `size: int` |   |",
        "| `put(a: int) -> int` | Put it. |",
        "| `put(a: str) -> str` | Put it. |",
        "| `more() -> None` | Give more. |",
    ]


def test_errors_form_a_tree_with_codes_and_raisers(names_of: Read) -> None:
    text = errors.render(
        names_of(
            {
                "harness/a/errors.py": (
                    "from vendor_shims.cordis import CordisError\nDEEP = 'DEEP'\n"
                    "class Base(CordisError):\n    '''Report trouble.'''\n    code: str = 'BASE'\n"
                    "class Silent(Base):\n    pass\n"
                    "class Deep(Silent, ValueError):\n    code = DEEP\n"
                ),
                "harness/b.py": (
                    "from harness.a.errors import Base, Deep\n"
                    "def f():\n    raise Base('x', code='OTHER')\n"
                    "def g(error):\n    raise Deep from error\n"
                    "def h():\n    raise unknown.Thing\n"
                ),
            }
        )
    )
    assert "4 error classes." in text
    assert "| `Base` | `BASE`, `OTHER` | Report trouble. | `harness.b` |" in text
    assert "| &emsp;`Silent` | `BASE` |   | none |" in text
    assert "| &emsp;&emsp;`Deep` | `DEEP` |   | `harness.b` |" in text


LOG = {
    "harness/session/event_types.py": (
        "A = 'a/message'\nB = 'b/fact'\nSURFACE_TYPES = frozenset({A})\nEVENT_TYPES = object()\n"
        "EVENT_TYPES.register(*SURFACE_TYPES, B, doc='core')\n"
        "EVENT_TYPES.register('c/never')\nother.register('d/no')\n"
    ),
}


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ("log.append(B, {'x': 1, 'y': 2})", "`x`, `y`"),
        ("log.append(B, freeze_json({**{'x': 1}}))", "`x`"),
        ("log.append(B, FrozenDict(x=1, **more()))", "`x`, …"),
        ("log.append(B, {key: 1})", "…"),
        ("log.append(B, message.to_json())", "message"),
        ("log.append(B, thing.to_json())", "…"),
        ("log.append(B)", "none"),
        ("log.append(B, None if z else {'x': 1})", "`x?`, …"),
        ("log.append(B, {'x': 1} if z else {'y': 1})", "`x?`, `y?`"),
        ("d = {'x': 1}\n    if z:\n        d['y'] = 2\n    log.append(B, d)", "`x`, `y?`"),
        (
            "if z:\n        d = {'x': 1}\n    else:\n        d = {'y': 1}\n    log.append(B, d)",
            "`x?`, `y?`",
        ),
        ("log.append(B, given)", "…"),
        ("log.append(B, place(1))", "`turn`, `step?`"),
        ("log.append(B, {'x': 1})\n    log.annotate(B, {'x': 1, 'y': 1})", "`x`, `y?`"),
    ],
)
def test_data_is_read_off_the_writers(body: str, data: str, names_of: Read) -> None:
    source = (
        "from harness.session.event_types import B\n"
        "def place(n):\n    if n:\n        return {'turn': n}\n    return {'turn': 1, 'step': 2}\n"
        f"def write(log, z, given):\n    {body}\n"
    )
    text = session_events.render(names_of(LOG | {"harness/w.py": source}))
    expected = f"| `b/fact` | `harness.session.B` | no | {data} | `harness.w` |"
    assert expected in text, text


def test_data_of_an_attribute_and_unwritten_kinds(names_of: Read) -> None:
    source = (
        "from harness.session.event_types import A\n"
        "class W:\n"
        "    def __init__(self):\n        self._p = {'turn': 1}\n"
        "    def write(self, log):\n        log.append(A, self._p)\n"
    )
    text = session_events.render(names_of(LOG | {"harness/w.py": source}))
    assert "3 kinds, 1 of them written here." in text
    assert "| `a/message` | `harness.session.A` | yes | `turn` | `harness.w` |" in text
    assert "By `harness.session`: `b/fact`, `c/never`." in text


def test_arrows_that_follow_from_others_are_not_drawn(names_of: Read) -> None:
    names = names_of(
        {
            "harness/a.py": "",
            "harness/b.py": "from harness import a\nfrom harness.a import x\n",
            "harness/c.py": (
                "import harness.a\nimport harness.b\ndef f():\n    import vendor_shims.cordis\n"
            ),
            "harness/d/testing.py": "import harness.a\n",
            "harness/d/__init__.py": "",
        }
    )
    loaded, later = modules.find_arrows(names)
    assert loaded["harness.c"] == {"harness.a", "harness.b"}
    assert later["harness.c"] == {"vendor_shims.cordis"}
    assert modules.reduce_arrows(loaded)["harness.c"] == {"harness.b"}
    text = modules.render(names)
    assert "  harness__c --> harness__b\n" in text
    assert "harness__c --> harness__a" not in text
    assert "| `harness.c` | `harness.a`, `harness.b` | `vendor_shims.cordis` |" in text
    assert "| `harness.d` | none | none |" in text


def test_a_circle_of_arrows_stays_a_circle() -> None:
    circle = {"a": {"b"}, "b": {"c"}, "c": {"a"}}
    assert modules.reduce_arrows(circle) == circle


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, "any value"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "integer ≥ 0, ≤ 9"),
        ({"type": ["integer", "null"], "exclusiveMinimum": 0}, "integer > 0 or null"),
        ({"type": ["string", "integer", "null"]}, "string or integer or null"),
        ({"enum": ["a", 1]}, '"a" or 1'),
        ({"const": None}, "null"),
        ({"anyOf": [{"$ref": "#/$defs/Thing"}, {"type": "null"}]}, "Thing or null"),
        (
            {"type": "array", "items": {"type": "string", "minLength": 1}},
            "list of string at least 1 characters",
        ),
        ({"type": "array"}, "list"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"type": "object", "additionalProperties": {}}, "object"),
        ({"$ref": "#"}, "the same again"),
    ],
)
def test_a_schema_is_said_in_words(schema: dict[str, object], said: str) -> None:
    assert words(schema) == said


@config
class Inner:
    size: int = field(default=1, role="ms", doc="How | large.")


@config
class Outer:
    need: str
    key: Secret[str] | None = None
    one: Inner = field(factory=Inner)
    many: list[Inner] = field(factory=list)
    named: dict[str, Inner] = field(factory=dict)


def test_rows_open_objects_lists_and_maps_but_no_circle() -> None:
    rows = list(plugin_config.rows_of(json_schema(Outer)))
    assert [row[0] for row in rows] == [
        "`need`",
        "`key`",
        "`one`",
        "`one.size`",
        "`many`",
        "`many[].size`",
        "`named`",
        "`named.*.size`",
    ]
    assert rows[0] == ("`need`", "`string`", "", "")
    assert rows[1][3] == "(secret)"
    assert rows[3] == ("`one.size`", "`integer`", "`1`", "How | large. (role ms)")
    circle = {
        "properties": {"next": {"$ref": "#/$defs/N"}},
        "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}},
    }
    assert [row[0] for row in plugin_config.rows_of(circle)] == ["`next`", "`next.next`"]


def test_every_offered_plugin_is_described() -> None:
    text = plugin_config.render(Names(Tree()))
    for offer in offers(ROOT):
        assert f"\n## `{offer.name}`\n" in text


def test_configuration_of_any_kind_is_described() -> None:
    plain = list(plugin_config.describe(Offer("x", "catalogue.plugins:Offer")))
    assert plain[-1] == "No configuration."


async def test_tools_are_what_running_plugins_offer() -> None:
    found = await tools.find_tools(offers(ROOT))
    named = {one.offer.name: [schema.name for schema in one.schemas] for one in found}
    assert named["tool-bash"] == ["bash"]
    assert named["tool-fs"] == ["read", "write", "edit"]
    assert all(one.sections for one in found if one.offer.name in {"tool-bash", "tool-fs"})


async def test_a_tool_plugin_that_waits_is_an_error() -> None:
    more = Offer("tool-hungry", "harness_plugins.llm_retry:RetryPlugin")
    ours = [offer for offer in offers(ROOT) if not offer.name.startswith("tool-")]
    found = await tools.find_tools([*ours, more])
    assert found[0].schemas == ()
    hungry = Offer("tool-hungry", "harness_plugins.llm_deepseek:DeepSeekPlugin")
    with pytest.raises(RuntimeError, match=r"tool-hungry is PENDING, it waits for .'http'"):
        await tools.find_tools([*ours, hungry])


@pytest.mark.parametrize(("text", "n_tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("ééé", 2)])
def test_tokens_are_counted_in_bytes(text: str, n_tokens: int) -> None:
    assert tools.tokens_of(text) == n_tokens


def test_markdown_survives_its_own_signs() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`a") == "`` `a ``"
    assert block("text", "```\nx\n```") == "````text\n```\nx\n```\n````"
    assert table(["a"], [["x | y\nz"], [""]]) == "| a |\n|---|\n| x \\| y z |\n|   |"


def test_pages_are_equal_for_equal_sources_and_name_no_machine() -> None:
    pages = build(Tree())
    assert pages == build(Tree())
    machine = re.compile(
        rf"{re.escape(str(ROOT))}|/root/|/home/|/tmp/|0x[0-9a-f]{{6,}}|20\d\d-\d\d"
    )
    for name, text in pages.items():
        assert not machine.search(text), name


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the scripts beside one package that declares an event."""
    for name in ("house", "catalogue"):
        shutil.copytree(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in (CORDIS | EVENT_FILES).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "catalogue", *arguments],
        cwd=checkout.parent,
        env=os.environ | {"PYTHONPATH": str(checkout / "scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_pages_are_written_and_go_stale(checkout: Path) -> None:
    missing = run(checkout, "--check")
    assert missing.returncode == 1
    assert "docs/generated/events.md is stale: run `make docs-generate`" in missing.stderr
    written = run(checkout)
    assert (written.returncode, written.stderr) == (0, "")
    assert run(checkout, "--check").returncode == 0

    folder = checkout / "docs" / "generated"
    (folder / "conformance.md").touch()
    (folder / "old.md").touch()
    source = checkout / "harness" / "a" / "events.py"
    source.write_text(source.read_text().replace('"a/never"', '"a/seldom"'))
    stale = run(checkout, "--check")
    assert stale.returncode == 1
    assert stale.stderr == (
        "docs/generated/events.md is stale: run `make docs-generate`\n"
        "docs/generated/old.md is made by nothing: remove it\n"
    )
