"""Run the mock chat-completions server as a process of its own.

    python -m harness.testing.mock_server --script FILE

FILE is JSON: a list of behaviour names and `{"behavior": name, option: value}` objects. The first
line on stdout is `{"event": "listening", "base_url": ...}`; one line follows per request and
result. The process ends on SIGTERM, on Ctrl-C, or with `--until-eof` when its stdin is closed.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import attrs

from harness.testing.recorded import MockEvent
from harness.testing.script import ScriptEntry
from harness.testing.server import MockServer
from harness.wire import WireError, dumps, loads


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        entries = _entries(options)
        server = MockServer(
            *entries,
            repeat_last=options.repeat_last,
            api_key=options.api_key,
            random_seed=options.seed,
            host=options.host,
            port=options.port,
            on_event=_print_event,
        )
    except (OSError, WireError, ValueError) as error:
        print(f"mock_server: {error}", file=sys.stderr)  # noqa: T201 - a command's own output
        return 2
    try:
        asyncio.run(_serve(server, until_eof=options.until_eof))
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(server: MockServer, *, until_eof: bool) -> None:
    async with server:
        _print({"event": "listening", "base_url": server.base_url, "port": server.port})
        if until_eof:
            await asyncio.to_thread(sys.stdin.buffer.read)
        else:
            await asyncio.Event().wait()


def _entries(options: argparse.Namespace) -> list[ScriptEntry]:
    if options.script is not None:
        entries = loads(cast("Path", options.script).read_bytes())
        if not isinstance(entries, list):
            raise ValueError("the script must be a JSON list")
        return cast("list[Any]", entries)
    return [name for name in cast("str", options.sequence).split(",") if name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness.testing.mock_server")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--script", type=Path, help="JSON file with the list of answers")
    source.add_argument("--sequence", help="behaviour names, separated by commas")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--api-key", help="the bearer token that requests need")
    parser.add_argument("--repeat-last", action="store_true", help="repeat the last answer")
    parser.add_argument("--seed", type=int, help="makes the behaviour `random` repeatable")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin is closed")
    return parser


def _print_event(event: MockEvent) -> None:
    record = attrs.asdict(event)
    _print({"event": record.pop("kind"), **record})


def _print(record: dict[str, object]) -> None:
    sys.stdout.buffer.write(dumps(record) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
