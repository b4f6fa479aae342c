"""Run one Python text from standard input as a reader would paste it.

`await` is allowed at the top level, warnings are errors, and the network ends at loopback.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from collections.abc import Coroutine
from typing import Any, cast

from house import network_guard


def main() -> None:
    """Compile and run standard input under the name given as the first argument."""
    name = sys.argv[1]
    network_guard.install()
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(sys.stdin.read(), name, "exec", flags=flags, dont_inherit=True)
    namespace = {"__name__": "__main__", "__file__": name}
    if code.co_flags & inspect.CO_COROUTINE:
        # `exec` would drop the coroutine that such a code object makes; `eval` returns it.
        body = cast("Coroutine[Any, Any, None]", eval(code, namespace))  # noqa: S307 - our own documents
        asyncio.run(_finish(body))
    else:
        exec(code, namespace)  # noqa: S102 - our own documents and examples


async def _finish(body: Coroutine[Any, Any, None]) -> None:
    await body


if __name__ == "__main__":
    main()
