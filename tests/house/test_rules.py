"""Each house rule holds on this checkout, and finds a small wrong one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from house.bans import check_bans
from house.documents import check_readmes, check_words
from house.imports import check_cycles, check_imports, check_outside_imports
from house.rules import RULES
from house.shape import check_names, check_roots, check_sizes, check_suppressions
from house.tree import Finding, Tree

Build = Callable[[dict[str, str]], Tree]

ROOT = '"""Offer a."""\n\n__all__ = []\n'


@pytest.mark.parametrize("name", RULES)
def test_holds_on_this_checkout(name: str) -> None:
    findings = RULES[name](Tree())
    assert not findings, "\n".join(["", *map(str, findings)])


def messages(findings: list[Finding]) -> list[str]:
    return [str(finding) for finding in findings]


def test_a_lower_floor_must_not_import_a_higher_one(tree_of: Build) -> None:
    tree = tree_of(
        {
            "vendor_shims/cordis/__init__.py": "import harness.session\n",
            "harness/session/__init__.py": "def f():\n    import harness_plugins.loop\n",
            "plugins/harness_plugins/loop/__init__.py": "import harness.session\n",
        }
    )
    assert messages(check_imports(tree)) == [
        "vendor_shims/cordis/__init__.py:1: vendor_shims must not import harness",
        "harness/session/__init__.py:2: harness must not import harness_plugins",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "from harness.session.log import Log",
        "import harness.session.log",
        "from harness.session import log",
        "from ..session.log import Log",
        "from ..session import log",
    ],
)
def test_another_package_is_imported_by_its_root(tree_of: Build, line: str) -> None:
    files = {
        "harness/agent/__init__.py": f"{line}\n",
        "harness/session/__init__.py": "from harness.session.log import Log\n",
        "harness/session/log.py": "from .types import A\nfrom harness.session import types\n",
        "harness/session/types.py": "",
    }
    assert messages(check_imports(tree_of(files))) == [
        "harness/agent/__init__.py:1: import harness.session, the root of harness.session.log"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "from harness.session import Log",
        "from harness import session, HarnessError",
        "import harness.session",
        "from ..session import Log",
        "from harness.session.testing import Contract",
        "from harness.session.contract import Contract",
        "from harness.session import config",
        "from harness.testing.strategies import texts",
        "import session.log",
    ],
)
def test_roots_and_contract_suites_may_be_imported(tree_of: Build, line: str) -> None:
    files = {
        "harness/__init__.py": "",
        "harness/agent/__init__.py": f"{line}\n",
        "harness/session/__init__.py": '__all__ = ["config"]',
        "harness/session/config.py": "",
        "harness/session/contract/__init__.py": "",
        "harness/session/testing.py": "",
        "harness/testing/strategies.py": "",
    }
    assert messages(check_imports(tree_of(files))) == []


def test_a_plugin_must_not_import_a_plugin_unless_it_composes(tree_of: Build) -> None:
    line = "from harness_plugins.tool_fs import apply\n"
    tree = tree_of(
        {
            "plugins/harness_plugins/tool_fs/__init__.py": "",
            "plugins/harness_plugins/tool_bash/__init__.py": line,
            "plugins/harness_plugins/agent_core/__init__.py": line,
            "plugins/harness_plugins/bundle_base/__init__.py": line,
        }
    )
    assert messages(check_imports(tree)) == [
        "plugins/harness_plugins/tool_bash/__init__.py:1: a plugin imports harness_plugins.tool_fs"
    ]


def test_a_package_that_is_not_there_is_named(tree_of: Build) -> None:
    tree = tree_of({"harness/a/__init__.py": "", "tests/test_a.py": "from harness.b import B\n"})
    assert messages(check_outside_imports(tree)) == [
        "tests/test_a.py:1: there is no package harness.b"
    ]


def test_tests_use_packages_as_users_do(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/session/__init__.py": "",
            "harness/session/log.py": "",
            "tests/test_a.py": "import harness.session\nfrom harness.session.log import Log\n",
        }
    )
    assert messages(check_outside_imports(tree)) == [
        "tests/test_a.py:2: import harness.session, the root of harness.session.log"
    ]


def test_packages_must_not_import_in_a_circle(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/a/__init__.py": "from harness.a.inner import A\n",
            "harness/a/inner.py": "from harness.b import B\n",
            "harness/b/__init__.py": "from harness.b.inner import B\n",
            "harness/b/inner.py": "from harness.c import C\n",
            "harness/c/__init__.py": "from harness.a.errors import E\n",
            "harness/a/errors.py": "",
            "harness/d/__init__.py": "from harness.a import A\n",
        }
    )
    assert messages(check_cycles(tree)) == [
        "harness/a/inner.py:1: a circle: harness.a -> harness.b -> harness.c -> harness.a",
        "harness/b/inner.py:1: a circle: harness.b -> harness.c -> harness.a -> harness.b",
        "harness/c/__init__.py:1: a circle: harness.c -> harness.a -> harness.b -> harness.c",
    ]


def test_a_module_that_its_root_does_not_load_closes_no_circle(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/a/__init__.py": "from harness.b import B\n",
            "harness/b/__init__.py": "",
            "harness/b/plugin.py": "from harness.a import A\n",
        }
    )
    assert messages(check_cycles(tree)) == []


def test_an_import_inside_a_function_closes_no_circle(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/a/__init__.py": "from harness.b import B\n",
            "harness/b/__init__.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from harness.a import A\n"
                "def f():\n    from harness.a import A\n"
            ),
        }
    )
    assert messages(check_cycles(tree)) == []


@pytest.mark.parametrize(
    "line",
    [
        "import json",
        "from json import loads",
        "import orjson",
        "'a'.splitlines()",
        "async def f(r): await r.readline()",
        "import asyncio; asyncio.create_task(f())",
        "asyncio.get_running_loop().create_task(f())",
        "self._loop.create_task(f())",
        "asyncio.ensure_future(f())",
        "from asyncio import create_task",
    ],
)
def test_a_call_that_has_one_home_is_refused_elsewhere(tree_of: Build, line: str) -> None:
    tree = tree_of({"harness/session/log.py": f"{line}\n"})
    assert len(check_bans(tree)) == 1


def test_a_call_is_allowed_in_its_home(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/wire/json.py": "import orjson\n'a'.splitlines()\n",
            "vendor_shims/cordis/fiber.py": "loop.create_task(f())\n",
            "harness/session/log.py": "group.create_task(f())\nopen('f').readline()\n",
        }
    )
    assert messages(check_bans(tree)) == []


def test_long_files_and_functions_are_refused(tree_of: Build) -> None:
    body = "    pass\n" * 60
    tree = tree_of(
        {
            "harness/a/long.py": "\n" * 400,
            "harness/a/functions.py": (
                f"def short():\n{body[9:]}"
                f"def long():\n{body}"
                f'async def fine():\n    """Do it.\n\n    Long because x.\n    """\n{body}'
                f'def told():\n    """Do it.\n\n    Not counted.\n    """\n{body[9:]}'
            ),
        }
    )
    assert messages(check_sizes(tree)) == [
        "harness/a/functions.py:61: long has 61 lines; split it or say 'Long because ...'",
        "harness/a/long.py:1: 401 lines; split at 400",
    ]


def test_a_module_is_named_by_a_concept(tree_of: Build) -> None:
    tree = tree_of({"harness/utils/__init__.py": "", "harness/a/_helpers.py": ""})
    assert len(check_names(tree)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "__all__ = []\n",
        '"""Offer a."""\n',
        f"{ROOT}x = 1\n",
        f"{ROOT}def __getattr__(name): ...\n",
        f"{ROOT}if TYPE_CHECKING:\n    import a\n",
        '"""Offer a."""\n\n__all__ = ["a", "a"]\n',
        '"""Offer a."""\n\n__all__ = list(names)\n',
    ],
)
def test_a_package_root_with_more_or_less_is_refused(tree_of: Build, text: str) -> None:
    tree = tree_of({"harness/a/__init__.py": text})
    assert len(check_roots(tree)) == 1


def test_a_pure_root_and_a_declared_lazy_root_are_fine(tree_of: Build) -> None:
    lazy = (
        f"{ROOT}if TYPE_CHECKING:\n    from harness.errors import E\n"
        "_HOMES = {'E': 'harness.errors'}\n"
        "def __getattr__(name): ...\n"
    )
    tree = tree_of(
        {
            "vendor_shims/__init__.py": '"""Hold the floor."""\n',
            "harness/__init__.py": lazy,
            "harness/a/__init__.py": ROOT.replace("__all__", "from b import c\n__all__"),
        }
    )
    assert messages(check_roots(tree)) == []


def test_a_public_module_states_its_surface(tree_of: Build) -> None:
    tree = tree_of({"harness/errors.py": "class E: ...\n", "harness/a/log.py": "class L: ...\n"})
    assert messages(check_roots(tree)) == [
        "harness/errors.py:1: a public module states its surface in __all__"
    ]


def test_a_suppression_says_why(tree_of: Build) -> None:
    mark = "# no" + "qa: S101"
    ignore = "# pyright: " + "ignore[reportAny]"
    tree = tree_of(
        {
            "harness/a/x.py": (
                f"a = 1  {mark}\n"
                f"b = 1  {mark} - holds by construction\n"
                f"c = 1  {ignore}\n"
                f"d = 1  {ignore}  # the stub is wrong\n"
                f"# The stub is wrong here.\n"
                f"e = 1  {ignore}\n"
                f'f = """\n{mark}\n"""\n'
                f"g = 1  {mark}  # a reason of several words\n"
                f"h = 1  # type: {'ignore'}[reportAny] - the wrong spelling\n"
            )
        }
    )
    assert [finding.line for finding in check_suppressions(tree)] == [1, 3, 11]


def test_a_package_without_a_readme_or_with_a_long_one_is_named(tree_of: Build) -> None:
    tree = tree_of(
        {
            "harness/a/__init__.py": "",
            "harness/b/__init__.py": "",
            "harness/b/README.md": "\n" * 81,
            "harness/c/__init__.py": "",
            "harness/c/README.md": "\n" * 80,
            "harness/d.py": "",
            "harness/_e/__init__.py": "",
        }
    )
    assert messages(check_readmes(tree)) == [
        "harness/a/__init__.py:1: harness.a has no README.md",
        "harness/b/README.md:1: 82 lines; at most 80",
    ]


@pytest.mark.parametrize(
    "line", ["see /" + "root/x", "TO" + "DO later", "a seam" + "less flow", "the " + "brief says"]
)
def test_words_from_outside_are_found(tree_of: Build, line: str) -> None:
    tree = tree_of({"docs/a.md": f"fine\n{line}\n", "harness/a.py": f"# {line}\n"})
    assert [finding.line for finding in check_words(tree)] == [2, 1]
