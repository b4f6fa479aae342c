"""Own scope keys: chains of them, contexts tagged with them, layers and dispatch carriers."""

from harness.scope.chain import (
    ScopeBinding,
    bind_scope_parent,
    iter_scope_chain,
    scope_chain_of,
    scope_parent_of,
)
from harness.scope.entries import AnonymousEntries, NamedEntries
from harness.scope.errors import ScopeBoundError, ScopeCycleError, ScopeError
from harness.scope.layers import Layer, LayerFold, ScopedLayers
from harness.scope.scope import SCOPE_TAG, Scope, create_scope, scope_of
from harness.scope.target import UNSCOPED, ScopeTarget, scope_target

__all__ = [
    "SCOPE_TAG",
    "UNSCOPED",
    "AnonymousEntries",
    "Layer",
    "LayerFold",
    "NamedEntries",
    "Scope",
    "ScopeBinding",
    "ScopeBoundError",
    "ScopeCycleError",
    "ScopeError",
    "ScopeTarget",
    "ScopedLayers",
    "bind_scope_parent",
    "create_scope",
    "iter_scope_chain",
    "scope_chain_of",
    "scope_of",
    "scope_parent_of",
    "scope_target",
]
