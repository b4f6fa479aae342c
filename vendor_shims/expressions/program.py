"""From a source to something that can be evaluated many times."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import NamedTuple

from .evaluator import Evaluator
from .expression import Expression
from .flaw import Flaw
from .limits import MAX_SOURCE_CHARS
from .names import Names
from .operations import detached

_MAX_KEPT = 1_024


class Program(NamedTuple):
    """A checked tree and the class that evaluates its dialect."""

    tree: ast.expr
    evaluator: type[Evaluator]

    def run(self, names: Names) -> object:
        """Return the value; raises `Flaw` with an offset."""
        try:
            return detached(self.evaluator(names).value(self.tree))
        except RecursionError:
            raise Flaw("there is too little stack left to evaluate this", 0) from None
        except Flaw as flaw:
            if flaw.offset is None:
                flaw.offset = 0
            raise


def compiled(expression: Expression) -> Program:
    """Return the program of an expression; equal expressions share one.

    Raises:
        Flaw: the source is too long, cannot be read or uses what is not allowed.
    """
    if len(expression.source) > MAX_SOURCE_CHARS:
        problem = f"an expression may have at most {MAX_SOURCE_CHARS} characters"
        raise Flaw(problem, MAX_SOURCE_CHARS)
    try:
        return _compiled(expression.source, is_javascript=expression.tag == "!!js")
    except RecursionError:
        # The depth is bounded, but not the stack of whoever calls.
        raise Flaw("there is too little stack left to read this", 0) from None


@lru_cache(maxsize=_MAX_KEPT)
def _compiled(source: str, *, is_javascript: bool) -> Program:
    if is_javascript:
        from .js_evaluator import JsEvaluator
        from .js_parser import parse_javascript

        return Program(parse_javascript(source), JsEvaluator)
    from .python_parser import parse_python

    return Program(parse_python(source), Evaluator)
