"""Read the patch files of layers, and say where one is wrong."""

from harness.errors import error_chain
from harness.profiles.errors import PatchInvalidError
from vendor_shims.cordis import CordisError
from vendor_shims.include import Layer, LayerKind, read_layer


def find_patches(path: str, *, name: str, kind: LayerKind, required: bool) -> Layer | None:
    """Return the layer of a patch file; None when it is missing and may be.

    Raises:
        PatchInvalidError: it is missing, cannot be read or parsed, or is no list of patches.
    """
    try:
        return read_layer(path, name=name, kind=kind, required=required)
    except CordisError as error:
        raise PatchInvalidError(error_chain(error)) from error
