"""Run one call of the tool: check the arguments, run the command, keep the full output."""

from __future__ import annotations

import os
from typing import Any

import attrs

from harness.bash import BashEnvRegistry, BashExecutor, BashOutput, BashRequest, BashRunResult
from harness.spill import SpillError, SpillSource, SpillStore
from harness.tools import Arguments, ToolArgsError, ToolExecution
from harness.wire import sanitize_text
from vendor_shims.cordis import AbortError, Context


class CommandRunner:
    """Run calls one at a time or side by side; holds no state between them."""

    def __init__(self, ctx: Context, *, bash: BashExecutor, bash_env: BashEnvRegistry) -> None:
        self._ctx = ctx
        self._bash = bash
        self._bash_env = bash_env

    async def run(self, arguments: Arguments, execution: ToolExecution) -> dict[str, Any]:
        """Run the command of a call and return its JSON value.

        Raises:
            ToolArgsError: an argument is unusable; nothing was run.
            BashError: the directory or the shell is missing; nothing was run.
            AbortError: the call was aborted (`TOOL_ABORTED`); nothing of the command is left.
        """
        check_arguments(arguments)
        agent = execution.agent
        timeout_ms = arguments.get("timeoutMs")
        request = BashRequest(
            command=arguments["command"],
            workdir=_workdir(arguments, execution),
            timeout_s=None if timeout_ms is None else timeout_ms / 1000,
            signal=execution.signal,
            dsh_env=self._bash_env.collect(execution),
            owner=None if agent is None else agent.ctx,
        )
        result = await self._bash.run(await self._bash.resolve(request))
        if result.aborted:
            raise _aborted()
        return await self._to_value(result, execution)

    async def _to_value(self, result: BashRunResult, execution: ToolExecution) -> dict[str, Any]:
        timeout_ms = result.timeout_s * 1000
        return {
            "kind": "foreground",
            "exitCode": result.exit_code,
            "signal": result.signal,
            "timedOut": result.timed_out,
            "aborted": result.aborted,
            "timeoutMs": int(timeout_ms) if timeout_ms.is_integer() else timeout_ms,
            "cwd": sanitize_text(result.workdir),
            "stillRunning": result.still_running,
            "stdout": _stream(await self._keep("stdout", result.stdout, execution)),
            "stderr": _stream(await self._keep("stderr", result.stderr, execution)),
        }

    async def _keep(self, name: str, output: BashOutput, execution: ToolExecution) -> BashOutput:
        """Move the full output to the session's own place, where one is to be had."""
        store = self._ctx.get(SpillStore)
        if output.spill_path is None or store is None or execution.agent is None:
            return output
        source = SpillSource(tool_name="bash", call_id=execution.call_id, label=name)
        try:
            record = await store.adopt_file(
                execution.agent.session.id,
                source,
                suggested_name=f"bash-{name}.log",
                path=output.spill_path,
            )
        except SpillError as error:
            self._ctx.logger.warning("the full %s stays in %s: %s", name, output.spill_path, error)
            return output
        return attrs.evolve(output, spill_path=record.locator)


def check_arguments(arguments: Arguments) -> None:
    """Refuse what the schema cannot express.

    Raises:
        ToolArgsError: listing every problem with its parameter.
    """
    violations = [
        f'"{name}" must not be blank'
        for name in ("command", "description")
        if not arguments[name].strip()
    ]
    violations += [
        f'"{name}" holds a NUL character'
        for name in ("command", "workdir")
        if "\0" in arguments.get(name, "")
    ]
    if arguments.get("timeoutMs", 1) <= 0:
        violations.append('"timeoutMs" must be greater than 0')
    if "run_in_background" in arguments:
        violations.append('"run_in_background" is not offered here; end the command with & instead')
    if violations:
        raise ToolArgsError(violations)


def _workdir(arguments: Arguments, execution: ToolExecution) -> str | None:
    agent = execution.agent
    session_cwd = None if agent is None else agent.session.header.cwd
    requested = arguments.get("workdir")
    if session_cwd is None or requested is None:
        return requested or session_cwd
    return os.path.join(session_cwd, requested)


def _stream(output: BashOutput) -> dict[str, Any]:
    stream = {"text": sanitize_text(output.text), "truncated": output.truncated}
    return stream if output.spill_path is None else {**stream, "spillPath": output.spill_path}


def _aborted() -> AbortError:
    error = AbortError("the command was ended, with everything that it started")
    error.code = "TOOL_ABORTED"
    return error
