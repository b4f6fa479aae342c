"""Declare the event of the glossary."""

from vendor_shims.cordis import Emit

DEFINED = Emit[[str, str]](
    "glossary/defined",
    contain=True,
    doc=(
        "Follows each definition, with the term and its meaning, once the file holds them. "
        "A listener that raises is logged and changes nothing."
    ),
)
