"""Find installed bundles by their entry points, and make the layer of one."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from harness.errors import error_chain
from harness.profiles.errors import BundleError
from harness.profiles.patch_files import find_patches
from harness.profiles.profile import Profile
from vendor_shims.include import Layer
from vendor_shims.loader import contained

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUNDLE_GROUP: Final = "harness.bundles"
"""The entry-point group in which distributions advertise bundles."""

_RESOURCES = (".yml", ".yaml", ".json")


@attrs.frozen
class Bundle:
    """An advertised bundle.

    Attributes:
        name: what a profile lists.
        target: `package:resource`, a patch file in the package, or `module:function`, which
            returns the list of patches.
        distribution: name and version of what advertises it, as pip knows it.
    """

    name: str
    target: str
    distribution: str


def use_site(profile: Profile) -> None:
    """Let packages installed for a profile be imported, behind everything the host has.

    The search path belongs to the process: what one profile adds stays. `.pth` files of the
    directory count, as editable installs need.
    """
    folder = str(profile.site)
    if folder not in sys.path and os.path.isdir(folder):
        import site

        site.addsitedir(folder)


def find_bundles(folder: Path | None = None) -> Mapping[str, Bundle]:
    """Return the installed bundles by name; of two with one name the first on the path counts.

    Args:
        folder: look at the distributions in this directory alone, instead of the search path.
    """
    from importlib.metadata import distributions, entry_points

    points: Iterable[EntryPoint]
    if folder is None:
        points = entry_points(group=BUNDLE_GROUP)
    else:
        points = [
            point
            for one in distributions(path=[str(folder)])
            for point in one.entry_points.select(group=BUNDLE_GROUP)
        ]
    found: dict[str, Bundle] = {}
    for point in points:
        dist = point.dist
        origin = "" if dist is None else f"{dist.name} {dist.version}"
        found.setdefault(point.name, Bundle(point.name, point.value, origin))
    return found


def bundle_layers(profile: Profile) -> list[Layer]:
    """Return the layers of a profile's bundles, in its order.

    Raises:
        BundleError: one is not installed, or its patches cannot be made.
        PatchInvalidError: its patch file cannot be taken.
    """
    use_site(profile)
    known = find_bundles()
    return [_layer(known[name]) if name in known else _missing(name, profile, known)
            for name in profile.bundles]  # fmt: skip


def _missing(name: str, profile: Profile, known: Mapping[str, Bundle]) -> Layer:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3)
    tail = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    installed = ", ".join(sorted(known)) or "none"
    raise BundleError(
        f"the bundle {name!r} of the profile {profile.name!r} is not installed; in the entry-point"
        f" group {BUNDLE_GROUP} there are: {installed}{tail}",
        hints=(
            f"to install it: dsh plugin --profile {profile.name} add DISTRIBUTION",
            f"or take it out of {profile.file}",
        ),
    )


def _layer(bundle: Bundle) -> Layer:
    """Return what a bundle adds; its own code is run only when it advertises a function."""
    package, colon, member = bundle.target.partition(":")
    package, member = package.strip(), member.strip()
    if not (package and colon and member):
        raise _bad(bundle, "expected package:resource or module:function")
    label = f"bundle {bundle.name}"
    try:
        with contained():
            if not member.endswith(_RESOURCES):
                return Layer(label, "bundle", _patches_of(bundle, package, member))
            path = _resource(package, member)
    except BundleError:
        raise
    except Exception as error:  # what a package raises while it is imported or asked
        raise _bad(bundle, error_chain(error)) from error
    layer = None
    if path is not None:
        layer = find_patches(path, name=label, kind="bundle", required=False)
    if layer is None:
        raise _bad(bundle, f"there is no file {member!r} in the package {package}")
    return layer


def _resource(package: str, member: str) -> str | None:
    """Return the path of a file in a package, without loading more than the packages above it."""
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"no module named {package!r}")
    for folder in spec.submodule_search_locations or ():
        path = os.path.join(folder, member)
        if os.path.isfile(path):
            return path
    return None


def _patches_of(bundle: Bundle, module: str, function: str) -> list[dict[str, Any]]:
    from importlib import import_module
    from operator import attrgetter

    make = cast("Callable[[], object]", attrgetter(function)(import_module(module)))
    if not callable(make):
        raise _bad(bundle, f"{function} must be a function that returns a list of patches")
    made = make()
    if not isinstance(made, list):
        raise _bad(bundle, f"{function}() must return a list of patches, got {type(made).__name__}")
    for number, patch in enumerate(cast("list[object]", made), start=1):
        if not isinstance(patch, dict):
            kind = type(patch).__name__
            raise _bad(bundle, f"item {number} of {function}() must be a mapping, got {kind}")
    return cast("list[dict[str, Any]]", made)


def _bad(bundle: Bundle, problem: str) -> BundleError:
    origin = f" of {bundle.distribution}" if bundle.distribution else ""
    return BundleError(f"the bundle {bundle.name!r}{origin} ({bundle.target}): {problem}")
