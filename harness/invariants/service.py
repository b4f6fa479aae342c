"""The service `ctx.invariants`: companions that watch what packages promise."""

from collections.abc import Callable

from harness.invariants.config import InvariantsConfig
from harness.invariants.errors import InvariantError
from vendor_shims.cordis import Context, Fiber, Service, plugin

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
        self._packages: dict[str, object] = {}

    def register(self, package: str, installer: Installer) -> Fiber | None:
        """Run `installer(ctx)` in a child of the caller, unless the package is filtered out.

        Returns:
            The child fiber, `None` when the checks of the package do not run. When the installer
            fails, the fiber has failed and the name is free again.

        Raises:
            InvariantError: the package has a companion already.
        """
        if package in self._packages:
            raise InvariantError("its companion is registered already", package=package)
        mine = self._packages[package] = object()

        def release() -> None:
            if self._packages.get(package) is mine:
                del self._packages[package]

        self.caller.effect(lambda: release, f'ctx.invariants.register("{package}")')
        if not self.config.selects(package):
            return None

        @plugin(name=f"invariants of {package}")
        def companion(ctx: Context) -> object:
            try:
                return installer(ctx)
            except BaseException:
                release()
                raise

        return self.caller.plugin(companion)
