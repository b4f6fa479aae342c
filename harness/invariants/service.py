"""The service `ctx.invariants`: companions that watch what packages promise."""

from collections.abc import Callable

from harness.invariants.config import InvariantsConfig
from harness.invariants.errors import InvariantError
from vendor_shims.cordis import Context, Fiber, Service

Installer = Callable[[Context], object]


class Invariants(Service):
    """Install the companions of packages, each in a fiber of its own.

    Invariants: a package name is registered at most once, whether or not its checks run.
    """

    key = "invariants"
    Config = InvariantsConfig

    def __init__(self, ctx: Context, config: InvariantsConfig) -> None:
        """Provide the registry; malformed patterns raise `ValidationError`."""
        config.check_patterns()
        super().__init__(ctx)
        self.config: InvariantsConfig = config
        self._packages: dict[str, Fiber | None] = {}

    def register(self, package: str, installer: Installer) -> Fiber | None:
        """Run `installer(ctx)` in a child of the caller, unless the package is filtered out.

        Returns:
            The child fiber, `None` when the checks of the package do not run.

        Raises:
            InvariantError: the package has a companion already.
        """
        if package in self._packages:
            raise InvariantError("its companion is registered already", package=package)
        self._packages[package] = None

        def release() -> None:
            self._packages.pop(package, None)

        self.caller.effect(lambda: release, f'ctx.invariants.register("{package}")')
        if not self.config.selects(package):
            return None

        def companion(ctx: Context) -> object:
            return installer(ctx)

        companion.__name__ = f"invariants of {package}"
        fiber = self._packages[package] = self.caller.plugin(companion)
        return fiber
