"""Carry out `dsh run`: from the words of the command line to an exit code."""

import asyncio
import gc
import os
import time
from functools import partial
from typing import NoReturn

from harness.cmdline import AppExit, shut_down, shutdown_limit_s
from harness.cmdline import CommandLine as AppArguments
from harness.http import HttpService
from harness.launch import resolve_home
from harness.tools import ToolRegistry
from harness_plugins.launcher.command_line import CommandLine
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.composition import (
    Composition,
    chosen_profile,
    composition,
    run_patches,
)
from harness_plugins.launcher.descriptors import STDIN, STDOUT, complain_on_stderr, is_terminal
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.events_surface import EventsSurface
from harness_plugins.launcher.failures import interruption_complaint
from harness_plugins.launcher.interruption import READER_GONE, Cause, Interruption, asked_for
from harness_plugins.launcher.jsonl_surface import JsonlSurface
from harness_plugins.launcher.launch_options import LaunchOptions
from harness_plugins.launcher.leaving import leave
from harness_plugins.launcher.log_output import note_changes_not_taken, write_log
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.output import Output
from harness_plugins.launcher.plain_surface import PlainSurface
from harness_plugins.launcher.reporting import give_up, report, wants_details
from harness_plugins.launcher.run import Run
from harness_plugins.launcher.run_plan import RunPlan, make_plan
from harness_plugins.launcher.surface import Surface
from harness_plugins.launcher.task import read_task
from harness_plugins.launcher.terminal_surface import TerminalSurface
from vendor_shims.cordis import Context

_WATCHED_DELAY_MS = 15.0  # between the guide's words, so that a person sees it stream


def run_command(line: CommandLine) -> int:
    """Run the task of a command line and return the exit code.

    Raises:
        CommandError: there is no task, something does not fit, or no session could be opened.
    """
    options = line.options
    if line.launch.profile is not None:
        home = resolve_home(line.launch.home, os.environ)
        chosen_profile(line.launch, home, os.environ, saves=False)
    deadline = None if options.timeout_s is None else time.monotonic() + options.timeout_s
    stop = Interruption(lambda cause: _leave_early(cause, options))
    with stop.hearing_signals():
        from_stdin = line.reads_stdin or not is_terminal(STDIN)
        task = read_task(line.words, from_stdin=from_stdin, deadline=deadline)
        if not task:
            raise _no_task(line)
        shows_text = not (options.json or options.events)
        plan = make_plan(task, options, has_audience=shows_text and is_terminal(STDOUT))
        return asyncio.run(_run(plan, line.launch, stop, deadline))


async def _run(
    plan: RunPlan, launch: LaunchOptions, stop: Interruption, deadline: float | None
) -> int:
    output = Output(lambda _: stop.request(READER_GONE))
    with_details = wants_details(is_debug=plan.options.debug)
    root = Context()
    exit_code = 1
    with stop.in_loop(None if deadline is None else deadline - time.monotonic()):
        try:
            is_logged = write_log(root, launch, os.environ)
            run = Run(root, plan, output=output, stop=stop, is_strict=launch.strict)
            composed = _composition(plan, launch, with_details=with_details)
            arguments = AppArguments(
                profile=composed.profile.name,
                surface=composed.profile.surface,
                arguments=(plan.task,),
            )
            root.provide(AppArguments.key, arguments)
            root.inject([AppExit.key], partial(_end_when_asked, stop))
            root.plugin(AppExit)
            root.inject(["http"], _warm_http)
            _follow(root, composed, plan, launch)
            started = await run.start(composed)
            gc.freeze()
            gc.enable()
            _tell((*composed.notes, *run.notes), plan.options)
            if not is_logged:
                note_changes_not_taken(root, partial(_tell_one, plan.options))
            surface = _surface(root, plan, output, started.opened.session_id)
            complaint = await run.finish(started, surface)
            exit_code = 0
            if complaint is not None:
                exit_code = report(complaint, run.error, with_details=with_details)
        except CommandError as error:
            if stop.cause is None:
                raise
            exit_code = give_up(
                error.complaint, error, is_json=plan.options.json, with_details=with_details
            )
        finally:
            await _shut_down(root, exit_code)
        if stop.cause is not None:
            leave(exit_code)
    return exit_code


def _leave_early(cause: Cause, options: Options) -> NoReturn:
    """End a run that was stopped before it had begun, so that nothing must be undone."""
    complaint = interruption_complaint(cause)
    error = CommandError(complaint)
    leave(give_up(complaint, error, is_json=options.json, with_details=False))


def _composition(plan: RunPlan, launch: LaunchOptions, *, with_details: bool) -> Composition:
    patches = run_patches(
        plan.target,
        max_steps=plan.options.max_steps,
        chunk_delay_ms=_WATCHED_DELAY_MS if plan.has_audience else 0.0,
        checks_invariants=with_details,
    )
    return composition(launch, plan.home, plan.environment, patches=tuple(patches))


def _follow(root: Context, composed: Composition, plan: RunPlan, launch: LaunchOptions) -> None:
    """Follow the user's patch files and settings for as long as the profile has hot reload."""
    home = plan.home
    files = [str(p) for p in (composed.profile.patch_file, home.patch_file, home.settings_file)]
    tell = partial(_tell_one, plan.options)

    async def follow(ctx: Context) -> None:
        from harness_plugins.launcher.live_layers import follow_layers

        await follow_layers(composed.again, files, tell, ctx)

    if not launch.no_user_config:
        root.inject(["hmr", "loader"], follow)


def _end_when_asked(stop: Interruption, ctx: Context) -> None:
    """Let any plugin end the run with an exit code of its own."""

    async def wait() -> None:
        stop.request(asked_for(await ctx[AppExit].requested()))

    ctx.spawn(wait, name="wait for an exit request")


def _warm_http(ctx: Context) -> None:
    """Load the HTTP client while the rest is put together; the first request needs it."""
    ctx.spawn(ctx[HttpService].warm, name="load the HTTP client")


def _tell(notes: tuple[str, ...], options: Options) -> None:
    """Print what the configuration leaves out; a run goes on without it."""
    for note in notes:
        _tell_one(options, note)


def _tell_one(options: Options, note: str) -> None:
    if not options.quiet:
        complain_on_stderr(f"dsh: note: {' '.join(note.split())}\n")


def _surface(root: Context, plan: RunPlan, output: Output, session_id: str) -> Surface:
    options = plan.options
    if options.json:
        return JsonlSurface(output, with_deltas=options.json_deltas)
    if options.events:
        return EventsSurface(output, session_id)
    if plan.has_audience:
        return TerminalSurface(
            output,
            root[ToolRegistry].get,
            shows_reasoning=options.show_reasoning,
            is_quiet=options.quiet,
        )
    return PlainSurface(output, shows_reasoning=options.show_reasoning, is_quiet=options.quiet)


async def _shut_down(root: Context, exit_code: int) -> None:
    """Unload everything; when something hangs, name it and leave all the same."""
    hanging = await shut_down(root, limit_s=shutdown_limit_s(os.environ))
    if hanging:
        sentence = f"the shutdown hangs: {', '.join(hanging)}"
        complaint = Complaint("INTERNAL", sentence, status=exit_code or 1)
        leave(report(complaint, None, with_details=False))


def _no_task(line: CommandLine) -> UsageError:
    """Return what is wrong without a task; a bare `dsh` shows what there is as well."""
    if not line.command:
        from harness_plugins.launcher.help_text import help_text

        complain_on_stderr(help_text(None) + "\n")
    return UsageError("there is no task", 'for example: dsh run "list the files here"')
