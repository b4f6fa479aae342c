"""Know where the harness lives and what environment it was started in."""

from harness.launch.environment import EnvLayer, EnvValue, LaunchEnvironment, capture_environment
from harness.launch.errors import DotenvError, HomeError, InvalidEnvironmentError, LaunchError
from harness.launch.home import Home, expand_tilde, resolve_home
from harness.launch.scrub import DEFAULT_SCRUB, ScrubRules, check_environment, scrub_environment

__all__ = [
    "DEFAULT_SCRUB",
    "DotenvError",
    "EnvLayer",
    "EnvValue",
    "Home",
    "HomeError",
    "InvalidEnvironmentError",
    "LaunchEnvironment",
    "LaunchError",
    "ScrubRules",
    "capture_environment",
    "check_environment",
    "expand_tilde",
    "resolve_home",
    "scrub_environment",
]
