"""Compose what `dsh run` mounts: the rows of a profile, and what the command line adds to them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from harness.launch import Home, LaunchEnvironment
from harness.profiles import (
    LayerFlag,
    LayerOptions,
    Profile,
    check_unmatched,
    compose_profile,
    open_profile,
    reset_profile,
)
from harness_plugins.launcher.launch_options import LaunchOptions
from harness_plugins.launcher.route import Route
from harness_plugins.launcher.target import Target
from vendor_shims.include import Composed, Layer, Patch, compose

HEADLESS = "headless"


@attrs.frozen(kw_only=True)
class Composition:
    """Hold the rows of a boot.

    Attributes:
        profile: where they come from.
        composed: the rows with their layers.
        again: reads and composes the layers anew.
        env: what expressions in them read.
        write_to: the patch file that keeps what code changes in the rows; `None` when nothing is
            to be kept.
        notes: patches of the user that fit nothing.
    """

    profile: Profile
    composed: Composed
    again: Callable[[], Composed] = attrs.field(repr=False)
    env: Mapping[str, str] = attrs.field(repr=False)
    write_to: str | None = None
    notes: tuple[str, ...] = ()


def chosen_profile(
    launch: LaunchOptions, home: Home, environ: Mapping[str, str], *, saves: bool = True
) -> Profile:
    """Return the profile that the command line asks for, `headless` unless it says otherwise.

    A shipped one is written to the home at its first use, unless nothing is to be saved.

    Raises:
        ProfileError: there is none, or its file is at fault.
    """
    if launch.from_default_profile is not None:
        profile, _ = reset_profile(home, launch.from_default_profile)
        return profile
    name = launch.profile or environ.get("DSH_PROFILE", "").strip() or HEADLESS
    return open_profile(home, name, saves=saves)


def composition(
    launch: LaunchOptions,
    home: Home,
    environment: LaunchEnvironment,
    *,
    patches: tuple[Patch, ...] = (),
    saves: bool = True,
) -> Composition:
    """Compose a profile, with patches that a surface made of its own options last.

    Those that name a row which the profile does not have are left out.

    Raises:
        ProfileError: a layer cannot be taken, or a patch of a flag fits nothing.
    """
    profile = chosen_profile(launch, home, environment.process, saves=saves)

    def read() -> Composed:
        composed = compose_profile(profile, home, layer_options(launch))
        check_unmatched(composed, strict=launch.strict)
        known = tuple(patch for patch in patches if composed.origin(patch["id"]))
        own = Layer("options of the command", "flag", known)
        return compose([*composed.layers, own]) if known else composed

    composed = read()
    notes = check_unmatched(composed, strict=launch.strict)
    env = {**environment.user, **environment.project, **environment.process}
    if launch.is_offline:
        env["DSH_OFFLINE"] = "1"
    write_to = _last_word(profile, composed) if saves and not launch.no_user_config else None
    return Composition(
        profile=profile, composed=composed, again=read, env=env, write_to=write_to, notes=notes
    )


def _last_word(profile: Profile, composed: Composed) -> str:
    """Return the user's file above which there are only options of the command line."""
    files = [layer.file for layer in composed.layers if layer.kind in ("profile", "home")]
    return next((file for file in reversed(files) if file), str(profile.patch_file))


def layer_options(launch: LaunchOptions) -> LayerOptions:
    """Return the layers that the command line adds to those of a profile."""
    flags = [LayerFlag(name, text) for name, text in launch.layers]
    return LayerOptions(flags=flags, no_user_config=launch.no_user_config)


def run_patches(
    target: Target,
    *,
    max_steps: int | None = None,
    chunk_delay_ms: float = 0.0,
    checks_invariants: bool = False,
) -> Iterator[Patch]:
    """Return what the options of a run change in the rows.

    Args:
        target: who answers besides the guide, which is always there.
        max_steps: bounds a turn.
        chunk_delay_ms: between the guide's words.
        checks_invariants: whether the development guard watches the log.
    """
    if max_steps is not None:
        yield {"id": "agent-loop", "merge": {"maxStepsPerTurn": max_steps}}
    if chunk_delay_ms:
        yield {"id": "llm-offline", "merge": {"chunkDelayMs": chunk_delay_ms}}
    if checks_invariants:
        yield {"id": "invariants", "disabled": False}
    yield {"id": "http", "disabled": not target.has_network}
    if target.route is None:
        yield {"id": "llm-deepseek", "disabled": True}
    else:
        yield {"id": "llm-deepseek", "disabled": False, "merge": _endpoint(target.route)}


def _endpoint(route: Route) -> Mapping[str, Any]:
    """Return what the adapter needs to know of an endpoint; what a profile says of it stays."""
    config: dict[str, Any] = {}
    if route.key is not None:
        config["apiKey"] = route.key
    if route.is_default:
        return config
    config["baseURL"] = route.base_url
    config["provider"] = route.provider
    config["dialect"] = route.dialect
    config["apiKeyEnv"] = route.key_name
    if route.max_retries is not None:
        config["retryPolicy"] = {"maxRetries": route.max_retries}
    if route.dialect == "openai":
        config["name"] = route.provider
    return config
