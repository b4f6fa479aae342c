"""Word the guide's answers; a tool is named only when it is offered."""

import re

from harness_plugins.llm_offline.intents import Intent
from harness_plugins.llm_offline.situation import Exchange, Situation

NOTICE = (
    "I am the offline guide of this harness, not a language model: I follow a few fixed rules and "
    "drive the real tools."
)
_MAX_QUOTED_LINES = 40
_MAX_QUOTED_CHARS = 4_000
_EXIT_CODE = re.compile(r"\[exit code: (-?\d+)\]\s*$")

_EXAMPLES = (
    (("bash", "glob"), "`list files`", "shows what is here"),
    (("read", "bash"), "`read PATH`", "shows a file"),
    (("grep", "bash"), "`find TEXT`", "searches the files"),
    (("bash",), "`run COMMAND`", "runs a shell command"),
    (("write",), "`write PATH: TEXT`", "writes a file"),
    (("bash", "glob"), "`summarize this repository`", "lists, reads and digests"),
    (("todo_write",), "`todo`", "demonstrates the list of tasks"),
    (("exit_plan_mode",), "`plan`", "demonstrates a plan"),
    (("ask_user_question",), "`ask`", "demonstrates a question"),
)
_ADD_A_MODEL = (
    "To talk to a real model, do one of these:\n"
    "- set `DEEPSEEK_API_KEY` in the environment\n"
    "- put `DEEPSEEK_API_KEY=…` into `.env` here, or into `~/.dsh/.env` for every directory\n"
    "- name another server and its key: `--base-url https://…` with `OPENAI_API_KEY`\n"
    "- use a local model server, without a key: `--base-url http://127.0.0.1:8080/v1`"
)


def help_text(situation: Situation) -> str:
    """Say what the guide can do with the tools at hand, and how to add a model."""
    lines = [
        f"- {example} {effect}"
        for tools, example, effect in _EXAMPLES
        if any(tool in situation.tools for tool in tools)
    ]
    able = "Try one of these:\n" + "\n".join(lines) if lines else "No tools are available here."
    return f"{able}\n\n{_ADD_A_MODEL}"


def answer_text(intent: Intent, situation: Situation) -> str:
    """Word the final answer of a task from the results of its tool calls."""
    if not situation.exchanges:
        if intent.kind == "help":
            return help_text(situation)
        return f"That needs a tool that is not available here.\n\n{help_text(situation)}"
    if intent.kind == "summarize":
        return _digest(situation.exchanges)
    last = situation.exchanges[-1]
    return f"{_headline(intent, last)}\n\n{_quote(last.text)}"


def title_text(situation: Situation) -> str:
    """Make a session title from the first words of the task."""
    return " ".join(situation.task.split()[:6]) or "Offline guide"


def compaction_text(tasks: list[str]) -> str:
    """Summarise a conversation by what the user asked."""
    return "So far the user asked:\n" + "\n".join(f"- {' '.join(task.split())}" for task in tasks)


def _headline(intent: Intent, exchange: Exchange) -> str:
    lines = _lines(exchange.text)
    size = f"{len(lines)} lines, {len(exchange.text)} characters"
    if exchange.is_error:
        return f"The tool `{exchange.call.name}` reported an error:"
    if intent.kind == "run":
        code = _EXIT_CODE.search(exchange.text)
        outcome = f"ended with exit code {code[1]}" if code else "ended"
        return f"The command `{intent.subject}` {outcome}; its output ({size}):"
    if intent.kind == "read":
        return f"{intent.subject} begins like this ({size}):"
    if intent.kind == "find":
        hits = sum(intent.subject.lower() in line.lower() for line in lines)
        return f"{hits} lines mention {intent.subject!r}:"
    if intent.kind == "list":
        return f"Here is what I found ({size}):"
    return f"The tool `{exchange.call.name}` answered ({size}):"


def _digest(exchanges: tuple[Exchange, ...]) -> str:
    parts = ["What I found, without judging it:"]
    for exchange in exchanges:
        lines = _lines(exchange.text)
        facts = "error" if exchange.is_error else f"{len(lines)} lines"
        parts.append(f"`{exchange.call.name}` {exchange.call.arguments} ({facts}):")
        parts.append(_quote(exchange.text, max_lines=12))
    return "\n\n".join(parts)


def _quote(text: str, max_lines: int = _MAX_QUOTED_LINES) -> str:
    lines = _lines(text)
    shown = "\n".join(lines[:max_lines])[:_MAX_QUOTED_CHARS]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    more = "" if len(shown) >= len("\n".join(lines)) else "\n(the rest is in the tool result)"
    return f"{fence}\n{shown}\n{fence}{more}"


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")
