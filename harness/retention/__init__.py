"""Keep a bounded part of an unbounded output and know exactly what is missing."""

from harness.retention.errors import InvalidBudgetError
from harness.retention.items import ItemRetainer
from harness.retention.omitted import Exact, Nothing, Omitted, Unknown, describe_omitted
from harness.retention.text import RetainedText, TextRetainer

__all__ = [
    "Exact",
    "InvalidBudgetError",
    "ItemRetainer",
    "Nothing",
    "Omitted",
    "RetainedText",
    "TextRetainer",
    "Unknown",
    "describe_omitted",
]
