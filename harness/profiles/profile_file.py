"""Read and write `profile.yml`, with the line of everything that is wrong in it."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import attrs

from harness.profiles.errors import ProfileFileError, ProfileStorageError
from harness.profiles.profile import PROFILE_FILE, Profile
from vendor_shims.unblocked import unblocked

if TYPE_CHECKING:
    import yaml

_MAX_BYTES = 256 * 1024
_STRING: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_BUNDLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SURFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ONE_LINE = 1 << 30
_KEYS = ("bundles", "surface", "requirements")
_HEADER = "# Bundles are applied in order; cordis.patch.yml beside this file changes single rows.\n"


class Span(NamedTuple):
    """Where a list stands in the text, as offsets in characters.

    `column` is that of the dashes of a list in lines, None for one in brackets.
    """

    start: int
    end: int
    column: int | None


class ProfileText(NamedTuple):
    """A `profile.yml` that was read: its profile, and where its lists stand in the text."""

    profile: Profile
    text: str
    spans: dict[str, Span]


def read_profile(folder: Path) -> ProfileText | None:
    """Return what the `profile.yml` in a folder says; None when there is none.

    Raises:
        ProfileFileError: it is no profile.
        ProfileStorageError: it cannot be read.
    """
    path = folder / PROFILE_FILE
    try:
        with open(path, "rb", opener=unblocked) as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProfileStorageError(path, error) from error
    if len(data) > _MAX_BYTES:
        raise ProfileFileError(path, 0, f"is larger than {_MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProfileFileError(path, line, "is not UTF-8") from error
    return parse_profile(folder, text)


def parse_profile(folder: Path, text: str) -> ProfileText:
    """Return what a text says as the `profile.yml` of a folder.

    Raises:
        ProfileFileError: it is no profile.
    """
    return _Reading(folder / PROFILE_FILE, text).profile_text(folder)


def render_profile(
    bundles: tuple[str, ...], surface: str, requirements: tuple[str, ...] = ()
) -> str:
    """Return the text of a new `profile.yml`."""
    return (
        f"{_HEADER}bundles: {_flow(bundles)}\nsurface: {surface}\n"
        f"requirements: {_flow(requirements)}\n"
    )


def with_lists(
    current: ProfileText,
    *,
    bundles: tuple[str, ...] | None = None,
    requirements: tuple[str, ...] | None = None,
) -> ProfileText:
    """Return the text with other lists in it, and everything else, comments too, as it was."""
    wanted = current.profile
    for key, items in (("bundles", bundles), ("requirements", requirements)):
        if items is not None:
            wanted = attrs.evolve(wanted, **{key: items})
            current = _with_list(current, key, items, wanted)
    return current


def _with_list(
    current: ProfileText, key: str, items: tuple[str, ...], wanted: Profile
) -> ProfileText:
    """Replace one list in place; a file written in an unusual way is written anew."""
    try:
        changed = parse_profile(wanted.folder, _spliced(current, key, items))
    except ProfileFileError:
        changed = current
    if changed.profile == wanted:
        return changed
    text = render_profile(wanted.bundles, wanted.surface, wanted.requirements)
    return parse_profile(wanted.folder, text)


def _spliced(current: ProfileText, key: str, items: tuple[str, ...]) -> str:
    if key not in current.spans:
        gap = "" if current.text.endswith("\n") else "\n"
        return f"{current.text}{gap}{key}: {_flow(items)}\n"
    start, end, column = current.spans[key]
    if column is None or not items:
        new = _flow(items)
    else:
        new = f"\n{' ' * column}".join(f"- {_flow((item,))[1:-1]}" for item in items)
    gap = " " if start == end else ""  # an empty value begins right behind its colon
    return current.text[:start] + gap + new + current.text[end:]


def _flow(items: tuple[str, ...]) -> str:
    """Return a YAML list on one line."""
    import yaml

    # The stub of `width` names a type that does not exist.
    text = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType]
        list(items), default_flow_style=True, width=_ONE_LINE, allow_unicode=True
    )
    return text.strip()


class _Reading:
    """One file while it is read."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def profile_text(self, folder: Path) -> ProfileText:
        """Return the profile that the text describes."""
        root = self._root()
        values = self._values(root)
        for key in ("bundles", "surface"):
            if key not in values:
                raise self._refuse(root, f"{key!r} is missing")
        spans: dict[str, Span] = {}
        bundles = self._list("bundles", values["bundles"], spans)
        seen: set[str] = set()
        for item, name in bundles:
            if not _BUNDLE.fullmatch(name):
                raise self._refuse(item, f"{name!r} is no name of a bundle")
            if name in seen:
                raise self._refuse(item, f"the bundle {name!r} is listed twice")
            seen.add(name)
        requirements: list[tuple[yaml.Node, str]] = []
        if "requirements" in values:
            requirements = self._list("requirements", values["requirements"], spans)
        surface = self._word(values["surface"], "surface")
        if not _SURFACE.fullmatch(surface):
            raise self._refuse(values["surface"], f"{surface!r} is no name of a surface")
        profile = Profile(
            name=folder.name,
            folder=folder,
            bundles=tuple(name for _, name in bundles),
            surface=surface,
            requirements=tuple(text for _, text in requirements),
        )
        return ProfileText(profile, self._text, spans)

    def _root(self) -> "yaml.MappingNode":
        import yaml

        try:
            # The parser written in Python has a recursion limit; the other one has only the stack.
            root = yaml.compose(self._text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = 0 if mark is None else mark.line + 1
            raise ProfileFileError(self._path, line, f"is no YAML: {error.problem}") from error
        except yaml.reader.ReaderError as error:
            line = self._text.count("\n", 0, error.position) + 1
            raise ProfileFileError(self._path, line, f"is no YAML: {error.reason}") from error
        except RecursionError as error:
            raise ProfileFileError(self._path, 0, "is nested too deeply") from error
        if not isinstance(root, yaml.MappingNode):
            line = 0 if root is None else root.start_mark.line + 1
            raise ProfileFileError(self._path, line, "expected the keys bundles and surface")
        return root

    def _values(self, root: "yaml.MappingNode") -> "dict[str, yaml.Node]":
        values: dict[str, yaml.Node] = {}
        for key_node, value in root.value:
            key = self._word(key_node, "a key")
            if key not in _KEYS:
                expected = ", ".join(_KEYS)
                raise self._refuse(key_node, f"unknown key {key!r}; expected one of {expected}")
            if key in values:
                raise self._refuse(key_node, f"{key!r} is there twice")
            values[key] = value
        return values

    def _list(
        self, key: str, node: "yaml.Node", spans: dict[str, Span]
    ) -> "list[tuple[yaml.Node, str]]":
        """Return the items of a list with their nodes, and note where the list stands."""
        import yaml

        if key == "requirements" and node.tag == _NULL:
            spans[key] = Span(node.start_mark.index, node.end_mark.index, None)
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self._refuse(node, f"{key} must be a list")
        items: list[tuple[yaml.Node, str]] = [
            (item, self._word(item, f"each of {key}")) for item in node.value
        ]
        # The mark after a list in lines is where the next thing starts, comments included.
        column = None if node.flow_style or not items else node.start_mark.column
        end = node if column is None else items[-1][0]
        spans[key] = Span(node.start_mark.index, end.end_mark.index, column)
        return items

    def _word(self, node: "yaml.Node", what: str) -> str:
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            raise self._refuse(node, f"{what} must be a text")
        text: str = node.value
        if node.tag != _STRING:
            raise self._refuse(node, f"{what} must be a text; put {text!r} into quotes")
        if not text.strip():
            raise self._refuse(node, f"{what} must not be empty")
        return text

    def _refuse(self, node: "yaml.Node", problem: str) -> ProfileFileError:
        return ProfileFileError(self._path, node.start_mark.line + 1, problem)
