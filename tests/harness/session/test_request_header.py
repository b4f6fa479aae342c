"""Request headers: canonical form, what counts as a change, and the forward fold."""

from __future__ import annotations

import pytest

from harness.session import (
    RequestContext,
    canonical_header,
    fold_request_header,
    header_equals,
)
from harness.wire import FrozenDict

CONFIG = {"provider": "p", "model": "m", "temperature": 1}
BASH = {"name": "bash", "description": "run", "parameters": {"type": "object", "required": ["a"]}}
READ = {"name": "read", "description": "look", "parameters": {"type": "object"}}


def header(**changes: object):
    whole = {
        "config": CONFIG,
        "adapterDefaults": {"maxTokens": True},
        "system": "be kind",
        "tools": [BASH, READ],
    }
    return canonical_header({**whole, **changes})


@pytest.mark.spec("03-71")
def test_what_says_nothing_is_dropped():
    plain = {"config": CONFIG}
    for empty in ({"system": ""}, {"tools": []}, {"adapterDefaults": {}}):
        assert canonical_header({**plain, **empty}) == plain
    assert canonical_header({**plain, "adapterDefaults": {"maxTokens": False}}) == plain
    assert canonical_header(header()) == header()
    frozen = header()
    assert type(frozen) is FrozenDict
    with pytest.raises(TypeError):
        frozen["tools"][0]["name"] = "x"


@pytest.mark.spec("03-72")
@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [READ, BASH]},
        {"tools": [BASH]},
        {"tools": [{**BASH, "description": "run it"}, READ]},
        {"tools": [dict(reversed(BASH.items())), READ]},
        {"tools": []},
        {"system": "be kinder"},
        {"system": ""},
        {"adapterDefaults": {}},
        {"config": {**CONFIG, "model": "n"}},
        {"config": {"provider": "p", "model": "m"}},
        {"config": {**CONFIG, "temperature": True}},
    ],
    ids=repr,
)
def test_a_change_of_what_is_sent_is_a_change(changes):
    assert not header_equals(header(), header(**changes))
    assert not header_equals(header(**changes), header())


@pytest.mark.spec("03-72")
def test_equal_headers_are_equal_whatever_object_they_are():
    one = header()
    assert header_equals(one, one)
    assert header_equals(one, header())
    assert header_equals(one, header(config=dict(reversed(CONFIG.items()))))
    assert header_equals(one, header(config={**CONFIG, "temperature": 1.0}))
    assert header_equals(None, None)
    assert not header_equals(one, None)
    assert not header_equals(None, one)


@pytest.mark.spec("03-74")
def test_the_newest_header_and_context_are_folded_forward(log):
    assert log.session.request_header() is None
    assert log.session.request_context() is None
    log.begin_turn()
    log.begin_step()
    log.header("one")
    first = log.session.request_header()
    log.header("two", "change")
    log.append("request/context", provider="p", model="two", contextWindow=5)
    log.end_step()
    log.end_turn()
    for _ in range(20):
        log.turn()
    assert log.session.request_header() == {"config": {"provider": "p", "model": "two"}}
    assert log.session.request_header() is log.session.request_header()
    assert first["config"]["model"] == "one"
    assert type(first) is FrozenDict
    assert log.session.request_context() == RequestContext("p", "two", 5)
    assert fold_request_header(log.events) == log.session.request_header()
    assert fold_request_header(log.events[:4]) == first
    assert fold_request_header(log.events[-3:], first) is first
