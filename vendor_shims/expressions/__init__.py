"""Values in configuration that are computed when a row starts, without running any code.

evaluate(Expression('env.PORT ?? 3080'), Names(env={}))
"""

from .errors import ExpressionError
from .expression import Expression, Place, Tag
from .interpolate import evaluate, has_expressions, interpolate
from .names import Names
from .readable import config_readable
from .rows import check_row

__all__ = [
    "Expression",
    "ExpressionError",
    "Names",
    "Place",
    "Tag",
    "check_row",
    "config_readable",
    "evaluate",
    "has_expressions",
    "interpolate",
]
