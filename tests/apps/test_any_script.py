"""Whatever a model server sends, the output keeps its grammar and the log its balance."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.testing import (
    DONE,
    MockServer,
    Reply,
    ReplyToolCall,
    chat_chunk,
    raw_reply,
    text_reply,
)

TEXTS = st.text(max_size=40)
CALLS = st.builds(
    ReplyToolCall,
    st.sampled_from(["bash", "read", "nothing"]),
    st.sampled_from(
        [
            '{"command": "echo hi; exit 3", "description": "try"}',
            '{"file_path": "missing"}',
            '{"command": ',
            "[1]",
            "",
        ]
    ),
    st.sampled_from(["a", "b", "c"]),
)
ANSWERS = st.builds(
    text_reply,
    TEXTS,
    reasoning=TEXTS,
    tool_calls=st.lists(CALLS, max_size=3, unique_by=lambda call: call.id),
    chunk_size=st.integers(1, 9),
)
ENDS = st.one_of(
    st.builds(text_reply, st.text(min_size=1, max_size=40)),
    st.builds(
        text_reply, TEXTS, finish_reason=st.sampled_from(["length", "content_filter", "odd"])
    ),
    st.builds(lambda text: raw_reply([chat_chunk({"content": text}), b"data: {\n\n", DONE]), TEXTS),
)
SCRIPTS = st.tuples(st.lists(ANSWERS, max_size=3), ENDS)


@pytest.mark.spec("09-C095")
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SCRIPTS)
async def test_every_script_gives_a_sound_output_and_a_sound_log(
    make_dsh: Any, check_grammar: Any, script: tuple[list[Reply], Reply]
) -> None:
    answers, end = script
    with tempfile.TemporaryDirectory() as folder:
        async with MockServer(*answers, end, text_reply("the end")) as server:
            dsh = make_dsh(Path(folder))
            dsh.use(server)
            done = await dsh("run", "--json-deltas", "question")
        check_grammar(done.lines)
        assert done.code in (0, 1, 6), done.stderr
        assert (done.code == 0) == (done.only("final")["reason"] == "completed")
        assert (done.code == 0) == (done.stderr == "")
        await dsh.balanced(done.only("final")["sessionId"])
