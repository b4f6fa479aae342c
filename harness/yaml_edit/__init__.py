"""Read a YAML mapping that people edit, and change single values without touching the rest."""

from harness.yaml_edit.document import YamlDocument
from harness.yaml_edit.errors import YamlEditError, YamlError, YamlSyntaxError
from harness.yaml_edit.files import decode_document, read_yaml_file

__all__ = [
    "YamlDocument",
    "YamlEditError",
    "YamlError",
    "YamlSyntaxError",
    "decode_document",
    "read_yaml_file",
]
