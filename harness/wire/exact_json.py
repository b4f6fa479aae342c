"""Read and write JSON without changing a value on the way.

orjson does the work. It has five habits that would lose something silently or refuse legal data;
each is caught here and handed to the exact codec in `json_encode` and `json_decode`:

- it writes NaN and infinities as `null` and `-0.0` as is: refused, as `JsonEncodeError`;
- it turns integers beyond 64 bits into floats on reading: read exactly instead;
- it refuses integers beyond 64 bits on writing: written exactly instead;
- it refuses lone surrogates in both directions: written as ASCII escapes, read back equal;
- it refuses nesting beyond 254 levels on writing and 1,024 on reading: any depth works.

Of several members with the same name the last one wins, in both codecs.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeAlias, cast

import orjson

from harness.wire.json_decode import decode_exact
from harness.wire.json_encode import JsonFragment, encode_exact

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""What `loads` returns; `dumps` also takes tuples and objects that its `default` converts."""

_Default: TypeAlias = Callable[[Any], object]  # foreign objects, so nothing is known of them

# Digits become "0", "-" stays, everything else "x": a substring search then finds every run of
# digits long enough to leave the 64-bit range, at a tenth of what a regular expression costs.
# Such a run is 19 digits at least, so three neighbours of every sixth byte lie in it: looking at
# those first spares nearly every input the search.
_DIGIT_RUNS = bytes(0x30 if 0x30 <= b <= 0x39 else 0x2D if b == 0x2D else 0x78 for b in range(256))
_LONG_POSITIVE = b"0" * 20
_LONG_NEGATIVE = b"-" + b"0" * 19
_SAMPLE_STEP = 6
_LONG_SAMPLE = b"000"
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def loads(data: bytes | bytearray | memoryview | str) -> Any:  # noqa: ANN401 - a JSON border, callers narrow it
    """Decode one JSON value exactly.

    Raises:
        JsonDecodeError: the input is not one JSON value in UTF-8, or holds NaN, an infinity, a
            number beyond the range of a double, or an integer of more than 4,300 digits.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return decode_exact(data)
    raw = data if type(data) is bytes else _as_bytes(data)
    sample = raw[::_SAMPLE_STEP].translate(_DIGIT_RUNS)
    if sample.find(_LONG_SAMPLE) >= 0 and _has_long_integer(raw):
        return decode_exact(data)
    return value


def _as_bytes(data: bytes | bytearray | memoryview | str) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


def _has_long_integer(data: bytes) -> bool:
    """Return whether some run of digits may be an integer beyond 64 bits."""
    runs = data.translate(_DIGIT_RUNS)
    return _LONG_POSITIVE in runs or _LONG_NEGATIVE in runs


def dumps(
    value: object,
    *,
    default: _Default | None = None,
    sort_keys: bool = False,
    pretty: bool = False,
) -> bytes:
    """Encode a value as compact UTF-8 JSON, members in insertion order.

    A value with a lone surrogate is written in ASCII with escapes, so that reading gives it back.

    Args:
        value: dicts with string keys, lists, tuples, strings, numbers, booleans, None, fragments.
        default: converts any other object to one of those; its errors pass through.
        sort_keys: order members by name, for hashes and comparisons.
        pretty: indent by two spaces; a value that needs the exact codec stays compact.

    Raises:
        JsonEncodeError: NaN, an infinity, -0.0, a key that is no string, a cycle, or an object
            without a JSON form; `path` names the place.
    """
    option = _OPTIONS
    if sort_keys:
        option |= orjson.OPT_SORT_KEYS
    if pretty:
        option |= orjson.OPT_INDENT_2
    data = _try_fast(value, default, option)
    return encode_exact(value, default=default, sort_keys=sort_keys) if data is None else data


def dumps_text(value: object, *, default: _Default | None = None, sort_keys: bool = False) -> str:
    """Encode like `dumps`, as text."""
    return dumps(value, default=default, sort_keys=sort_keys).decode()


def dumps_request(value: object) -> bytes:
    """Encode a value for another party: lone surrogates become U+FFFD, the rest as in `dumps`.

    Raises:
        JsonEncodeError: as `dumps`, and for integers beyond 64 bits, which peers would round.
    """
    data = _try_fast(value, None, _OPTIONS)
    return encode_exact(value, for_request=True) if data is None else data


def _try_fast(value: object, default: _Default | None, option: int) -> bytes | None:
    """Encode with orjson, or return None when only the exact codec can tell what is right."""
    try:
        data = orjson.dumps(value, _splice if default is None else _splice_or(default), option)
    except orjson.JSONEncodeError:
        return None
    if data.find(b"null") < 0 and data.find(b"-0.0") < 0:
        return data
    return data if _is_exact(value, default) else None


def _splice(item: Any) -> object:  # noqa: ANN401 - any foreign object
    if type(item) is JsonFragment:
        return orjson.Fragment(item.data)
    raise TypeError(f"{type(item).__qualname__} has no JSON form")


def _splice_or(default: _Default) -> _Default:
    def hook(item: Any) -> object:  # noqa: ANN401 - any foreign object
        return orjson.Fragment(item.data) if type(item) is JsonFragment else default(item)

    return hook


def _is_exact(value: object, default: _Default | None) -> bool:
    """Return whether a value that orjson has accepted surely holds no NaN, infinity or -0.0."""
    pending: list[object] = [value]
    while pending:
        item = pending.pop()
        if item is None or isinstance(item, str | int | JsonFragment):
            continue
        if isinstance(item, float):
            if not isfinite(item) or (item == 0.0 and str(item) == "-0.0"):
                return False
        elif isinstance(item, dict):
            pending.extend(cast("dict[str, object]", item).values())
        elif isinstance(item, list | tuple):
            pending.extend(cast("list[object]", item))
        else:
            assert default is not None, "the encoder takes no other object without one"
            pending.append(default(item))
    return True
