"""Refuse configuration: what to retry is the provider's business."""

from collections.abc import Mapping
from typing import Any, cast

from vendor_shims.cordis import Issue, ValidationError
from vendor_shims.schema import config, structure


@config
class RetryConfig:
    """Take no configuration."""

    @classmethod
    def validate(cls, raw: object = None) -> "RetryConfig":
        """Return the empty config; a `retryPolicy` is pointed to the provider it belongs to."""
        keys: Mapping[str, Any] = cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else {}
        if "retryPolicy" in keys:
            hint = "belongs to the provider: set it in the config of its adapter"
            raise ValidationError([Issue(hint, ("retryPolicy",))])
        return structure(cls, cast("Any", raw))
