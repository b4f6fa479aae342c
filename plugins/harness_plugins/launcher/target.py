"""Decide who answers: from the command line, then the environment, then what is there."""

from collections.abc import Collection
from typing import Final, NamedTuple

import attrs

from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError, UsageError
from harness_plugins.launcher.keys import Keys
from harness_plugins.launcher.options import Options
from harness_plugins.launcher.route import (
    COMPATIBLE,
    COMPATIBLE_KEY,
    OFFICIAL,
    OFFICIAL_HOST,
    OFFICIAL_KEY,
    Route,
    checked_url,
)

OFFLINE: Final = "offline"
GUIDE: Final = "guide"
_OFFICIAL_MODEL = "deepseek-v4-flash"
_OFFICIAL_URL = "DEEPSEEK_BASE_URL"
_ALIASES = {"deepseek": OFFICIAL}


class Choice(NamedTuple):
    """Name a provider and a model; without a model the server is asked which one it has."""

    provider: str
    model: str | None


@attrs.frozen(kw_only=True)
class Target:
    """Say who answers a new session, and what may answer a resumed one.

    `route` is None when the guide answers, or a plugin of the profile whose address is its own
    matter. `choice` is None when there is nobody for a new session. `is_explicit` says that the
    command line chose the provider, so that a resumed session changes to it. `is_fallback` says
    that the guide stands in for a model that is not configured.
    """

    route: Route | None = None
    choice: Choice | None = None
    is_explicit: bool = False
    is_fallback: bool = False

    @property
    def has_network(self) -> bool:
        """Return whether somebody else than the guide may answer."""
        return self.route is not None or (
            self.choice is not None and self.choice.provider != OFFLINE
        )

    def for_session(
        self, stored: Choice | None, model: str | None, *, served: Collection[str]
    ) -> Choice:
        """Return who answers a resumed session that `stored` answered last.

        Args:
            stored: the last choice in the log, None when no request was made.
            model: what the command line says.
            served: the providers that the plugins of this run serve.

        Raises:
            CommandError: nobody in this run serves the session.
        """
        if stored is None or self.is_explicit:
            if self.choice is None:
                raise CommandError(missing_key())
            is_same = stored is not None and stored.provider == self.choice.provider
            kept = stored.model if stored is not None and is_same else self.choice.model
            return Choice(self.choice.provider, model or kept)
        if stored.provider in served:
            return Choice(stored.provider, model or stored.model)
        if stored.provider == OFFICIAL:
            raise CommandError(missing_key())
        raise UsageError(
            f"the session was answered by {stored.provider!r}, which nothing serves here",
            f"say that it is served: --provider {stored.provider}, or where it is: --base-url URL",
            f"or go on with another one: --provider {OFFICIAL}, or --offline",
        )


def choose_target(options: Options, keys: Keys, *, has_audience: bool) -> Target:
    """Return who answers this run.

    Args:
        options: of the command line.
        keys: environment, stored secrets and `.env` files of this run.
        has_audience: whether a person watches, who can be told that the guide is no model.

    A provider that is not known here is left to the plugins of the profile.

    Raises:
        UsageError: the options contradict each other.
        CommandError: `MISSING_CREDENTIAL`, `UNKNOWN_MODEL`, or a `.env` that would redirect a key.
        CredentialsError, OSError: a stored key is needed and cannot be read.
    """
    is_offline = options.offline or keys.setting("DSH_OFFLINE") in ("1", "true", "yes")
    provider = options.provider or (None if is_offline else keys.setting("DSH_PROVIDER"))
    provider = _ALIASES.get(provider or "", provider)
    if is_offline or provider == OFFLINE:
        return _offline(options, provider)
    model = options.model or keys.setting("DSH_MODEL")
    if options.base_url is not None:
        return _custom(checked_url(options.base_url, name="--base-url"), provider, model,
                       keys)  # fmt: skip
    if provider not in (None, OFFICIAL):
        is_explicit = options.provider is not None
        return Target(choice=Choice(provider, model), is_explicit=is_explicit)
    return _official(options, keys, model, has_audience=has_audience)


def missing_key() -> Complaint:
    """Return the complaint of a run for which no model is configured."""
    return Complaint(
        "MISSING_CREDENTIAL",
        f"no model is configured: {OFFICIAL} needs {OFFICIAL_KEY}",
        (
            f"set {OFFICIAL_KEY}, or name a server: --base-url http://127.0.0.1:8080/v1",
            "or try it without a model: add --offline",
        ),
    )


def _offline(options: Options, provider: str | None) -> Target:
    if options.base_url is not None:
        raise UsageError("--base-url and --offline contradict each other; choose one")
    if provider not in (None, OFFLINE):
        raise UsageError(f"--provider {provider} and --offline contradict each other; choose one")
    if options.model not in (None, GUIDE):
        raise CommandError(
            Complaint(
                "UNKNOWN_MODEL",
                f"the offline provider has the one model {GUIDE!r}, not {options.model!r}",
                ("leave --model away, or name with --base-url the server that has it",),
                status=2,
            )
        )
    return Target(choice=Choice(OFFLINE, GUIDE), is_explicit=True)


def _custom(url: str, provider: str | None, model: str | None, keys: Keys) -> Target:
    """Return the endpoint that the command line names; DeepSeek's key goes nowhere by chance."""
    if provider is None:
        is_official = url.partition("://")[2].partition("/")[0] == OFFICIAL_HOST
        provider = OFFICIAL if is_official else COMPATIBLE
    if provider == OFFICIAL:
        if not keys.find(OFFICIAL_KEY):
            raise CommandError(missing_key())
        choice = Choice(provider, model or _OFFICIAL_MODEL)
        return Target(route=_official_route(url, keys), choice=choice, is_explicit=True)
    route = Route(
        provider=provider,
        dialect="openai",
        base_url=url,
        key_name=COMPATIBLE_KEY,
        key=keys.outside_process(COMPATIBLE_KEY),
    )
    return Target(route=route, choice=Choice(provider, model), is_explicit=True)


def _official(options: Options, keys: Keys, model: str | None, *, has_audience: bool) -> Target:
    is_explicit = options.provider is not None
    if keys.find(OFFICIAL_KEY):
        return Target(
            route=_official_route(
                official_url(keys), keys, is_default=not keys.setting(_OFFICIAL_URL)
            ),
            choice=Choice(OFFICIAL, model or _OFFICIAL_MODEL),
            is_explicit=is_explicit,
        )
    if has_audience and not is_explicit:
        return Target(choice=Choice(OFFLINE, GUIDE), is_fallback=True)
    if options.resume is not None and not is_explicit:
        return Target()
    raise CommandError(missing_key())


def _official_route(base_url: str, keys: Keys, *, is_default: bool = False) -> Route:
    return Route(
        provider=OFFICIAL,
        dialect="deepseek",
        base_url=base_url,
        key_name=OFFICIAL_KEY,
        key=keys.outside_process(OFFICIAL_KEY),
        is_default=is_default,
    )


def official_url(keys: Keys) -> str:
    """Return the address of the official route.

    A project's `.env` may come from somebody else, so it cannot send a key that it does not hold
    to an address of its choice.
    """
    found = keys.environment.get(_OFFICIAL_URL)
    if found is None or not found.value.strip():
        return f"https://{OFFICIAL_HOST}"
    key = keys.find(OFFICIAL_KEY)
    if found.layer == "project-env" and (key is None or key.source != "project-env"):
        raise CommandError(
            Complaint(
                "CONFIG_INVALID",
                f"{_OFFICIAL_URL} in the .env of this directory would send your"
                f" {OFFICIAL_KEY} to another server",
                ("if that is wanted, set it in the keys, or pass --base-url",),
            )
        )
    return checked_url(found.value, name=_OFFICIAL_URL)
