"""Know the profiles of a home, and compose the rows of one from its layers."""

from harness.profiles.bundles import BUNDLE_GROUP, Bundle, find_bundles, use_site
from harness.profiles.errors import (
    BundleError,
    LayerFlagError,
    PatchInvalidError,
    PatchUnmatchedError,
    ProfileError,
    ProfileFileError,
    ProfileNameError,
    ProfileStorageError,
    SettingsInvalidError,
    UnknownProfileError,
)
from harness.profiles.flags import FlagName, LayerFlag, LayerOptions
from harness.profiles.layers import compose_profile, layer_list, row_ids
from harness.profiles.profile import Profile, check_profile_name, is_profile_name
from harness.profiles.settings_layer import settings_layer
from harness.profiles.store import (
    ProfileListing,
    change_profile,
    list_profiles,
    new_profile,
    open_profile,
    remove_profile,
    reset_profile,
)
from harness.profiles.templates import TEMPLATES, Template
from harness.profiles.unmatched import check_unmatched, describe_skipped

__all__ = [
    "BUNDLE_GROUP",
    "TEMPLATES",
    "Bundle",
    "BundleError",
    "FlagName",
    "LayerFlag",
    "LayerFlagError",
    "LayerOptions",
    "PatchInvalidError",
    "PatchUnmatchedError",
    "Profile",
    "ProfileError",
    "ProfileFileError",
    "ProfileListing",
    "ProfileNameError",
    "ProfileStorageError",
    "SettingsInvalidError",
    "Template",
    "UnknownProfileError",
    "change_profile",
    "check_profile_name",
    "check_unmatched",
    "compose_profile",
    "describe_skipped",
    "find_bundles",
    "is_profile_name",
    "layer_list",
    "list_profiles",
    "new_profile",
    "open_profile",
    "remove_profile",
    "reset_profile",
    "row_ids",
    "settings_layer",
    "use_site",
]
