"""Show settings and composition: what they are, where they come from, what they may be."""

from harness.launch import Home
from harness.profiles import (
    Profile,
    check_unmatched,
    compose_profile,
    open_profile,
)
from harness.wire import loads
from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.commands.profile import chosen_profile
from harness_plugins.launcher.commands.settings_file import read_settings
from harness_plugins.launcher.composition import layer_options
from harness_plugins.launcher.descriptors import complain_on_stderr
from vendor_shims.include import Composed, dump


def show_all(surroundings: Surroundings) -> int:
    """Print two YAML documents: the settings as they stand in their file, and the rows.

    Raises:
        YamlError, ProfileError: something cannot be read or composed.
    """
    home = surroundings.home()
    settings = read_settings(home)
    profile = current_profile(surroundings)
    composed = composition(profile, home, surroundings)
    if surroundings.is_json:
        composed_rows = loads(dump(composed, format="json").encode())
        document = {"settings": settings.value, "profile": profile.name, "rows": composed_rows}
        return answer(surroundings, document, "")
    place = home.display(home.settings_file)
    head = f"# settings, {place}\n{settings.text.rstrip() or '{}'}\n"
    text = f"{head}---\n# profile {profile.name}\n{dump(composed)}"
    return answer(surroundings, {}, text)


def show_paths(surroundings: Surroundings) -> int:
    """Print every file that configuration is read from, the weakest first."""
    home = surroundings.home()
    profile = current_profile(surroundings)
    files = {
        "profile": profile.file,
        "profile patches": profile.patch_file,
        "home patches": home.patch_file,
        "settings": home.settings_file,
        "credentials": home.credentials_file,
    }
    document = {
        "files": [
            {"name": name, "path": str(path), "exists": path.is_file()}
            for name, path in files.items()
        ]
    }
    text = rows(
        (name, str(path), "" if path.is_file() else "(does not exist)")
        for name, path in files.items()
    )
    return answer(surroundings, document, text)


def show_schema(surroundings: Surroundings) -> int:
    """Print the JSON Schema of the layers of the profile, always as JSON."""
    from harness_plugins.launcher.commands.row_schema import layer_schema

    home = surroundings.home()
    profile = current_profile(surroundings)
    schema = layer_schema(composition(profile, home, surroundings))
    return answer(surroundings._replace(is_json=True), schema, "")


def current_profile(surroundings: Surroundings) -> Profile:
    """Return the profile that the command means; nothing is written.

    Raises:
        ProfileError: there is no such profile, or its file is at fault.
    """
    return open_profile(surroundings.home(), chosen_profile(surroundings), saves=False)


def composition(profile: Profile, home: Home, surroundings: Surroundings) -> Composed:
    """Return the rows of a profile as a boot would compose them; warnings go to stderr.

    Raises:
        ProfileError: a layer cannot be read, or patches match nothing where they must.
    """
    composed = compose_profile(profile, home, layer_options(surroundings.options))
    for warning in check_unmatched(composed, strict=surroundings.options.strict):
        complain_on_stderr(f"dsh: warning: {warning}\n")
    return composed
