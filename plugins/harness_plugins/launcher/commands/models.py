"""Carry out `dsh models`: list what can be chosen, and find servers on this machine."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings

if TYPE_CHECKING:
    from harness.llm import LlmModelInfo


def add_arguments(parser: ArgumentParser) -> None:
    """Take the word `detect`, or options that choose the provider."""
    about = "look for OpenAI-compatible servers on this machine instead"
    parser.add_argument("action", choices=("detect",), nargs="?", help=about)
    parser.add_argument("--port", metavar="N", action="append", help="a port to look at, in the"
                        " place of the usual ones; with detect")  # fmt: skip
    parser.add_argument("--provider", metavar="NAME", help="the models of one provider only")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server to ask")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """List the models of every provider that can be used here.

    Raises:
        CommandError: the provider is unknown, lacks its key, or does not answer.
    """
    import asyncio

    if arguments.action == "detect":
        from harness_plugins.launcher.commands.local_servers import detect_servers

        return detect_servers(surroundings, arguments.port or ())
    models = asyncio.run(_models(surroundings, arguments.provider, arguments.base_url))
    document = {
        "models": [
            {
                "provider": model.provider,
                "id": model.id,
                "name": model.name,
                "description": model.description,
            }
            for model in models
        ]
    }
    text = rows((model.provider, model.id, model.description or model.name) for model in models)
    return answer(surroundings, document, text)


async def _models(
    surroundings: Surroundings, provider: str | None, base_url: str | None
) -> list["LlmModelInfo"]:
    from harness.llm import LlmError, LlmService
    from harness_plugins.launcher.commands.auth_keys import launch_keys
    from harness_plugins.launcher.commands.mounted import mounted_harness
    from harness_plugins.launcher.complaint import Complaint
    from harness_plugins.launcher.errors import CommandError
    from harness_plugins.launcher.model_choice import unknown_provider
    from harness_plugins.launcher.options import Options
    from harness_plugins.launcher.target import choose_target

    options = Options(offline=surroundings.options.is_offline, provider=provider, base_url=base_url)
    lists_all = provider is None and base_url is None
    target = choose_target(options, launch_keys(surroundings), has_audience=lists_all)
    async with mounted_harness(surroundings, target) as root:
        llm = root[LlmService]
        wanted = [info.id for info in llm.list_providers()]
        if target.choice is not None and not lists_all:
            wanted = [target.choice.provider]
        found: list[LlmModelInfo] = []
        for one in wanted:
            try:
                found += await llm.list_models(one)
            except LlmError as error:
                if error.code == "NO_ADAPTER":
                    raise unknown_provider(error) from error
                sentence = f"{one} does not list its models: {error}"
                raise CommandError(Complaint(error.code, sentence)) from error
        return found
