"""Rendering: interpolation and runtime context texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.system_prompt import (
    CONTEXT_HEADER,
    InterpolationError,
    NamedText,
    PromptAssembly,
    interpolate,
    join_context_sections,
    render_context_sections,
    render_prompt,
)

VARIABLES = {"cwd": "/w", "n1_x": "1", "tricky": "{{cwd}} {{", "empty": "", "none": None}


def fill(text: str) -> str:
    return interpolate(text, VARIABLES, where="section 's'")


@pytest.mark.spec("03-120")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("{{cwd}}", "/w"),
        ("a{{cwd}}b{{n1_x}}c", "a/wb1c"),
        ("{{empty}}", ""),
        ("open {{ never closed", "open {{ never closed"),
        ("{{cwd}} then {{ open", "/w then {{ open"),
        ("}} alone, { single } and }", "}} alone, { single } and }"),
        ("{{cwd}}}", "/w}"),
    ],
)
def test_interpolation_fills_names_and_leaves_everything_else(text: str, expected: str) -> None:
    assert fill(text) == expected


@pytest.mark.spec("03-120")
@pytest.mark.parametrize(
    "text",
    ["{{}}", "{{ cwd }}", "{{Cwd}}", "{{a.b}}", "{{{cwd}}}", "{{a{b}}", "{{ {{cwd}}", "{{a\n}}"],
)
def test_malformed_placeholders_are_refused(text: str) -> None:
    with pytest.raises(InterpolationError, match=r"(?s)malformed placeholder .* in section 's'"):
        fill(text)


def test_a_very_long_malformed_placeholder_is_shown_shortened() -> None:
    with pytest.raises(InterpolationError) as caught:
        fill("{{" + "X" * 5_000 + "}}")
    assert len(str(caught.value)) < 300


@pytest.mark.spec("03-120", "03-119")
def test_unknown_names_and_missing_values_are_refused() -> None:
    with pytest.raises(InterpolationError, match=r"unknown variable 'branch'.*cwd, empty, n1_x"):
        fill("{{branch}}")
    with pytest.raises(InterpolationError, match="registered variables: none"):
        interpolate("{{branch}}", {}, where="x")
    with pytest.raises(InterpolationError, match="'none' in section 's' has no value"):
        fill("{{none}}")


@pytest.mark.spec("03-121", "03-P18")
@given(st.text(alphabet="{}abcwd _", max_size=30))
def test_inserted_values_are_never_looked_at_again(value: str) -> None:
    text = "<{{x}}|{{x}}>"
    assert interpolate(text, {"x": value}, where="s") == f"<{value}|{value}>"


@given(st.text(alphabet="{}cwd ", max_size=20))
def test_interpolation_either_fills_or_refuses(text: str) -> None:
    try:
        filled = fill(text)
    except InterpolationError:
        return
    assert "{{cwd}}" not in filled


def test_rendering_names_the_section_that_fails() -> None:
    assembly = PromptAssembly(sections=(NamedText("git", "{{nope}}"),))
    with pytest.raises(InterpolationError, match="prompt section 'git'"):
        render_prompt(assembly)


@pytest.mark.spec("03-121")
def test_contexts_are_joined_below_a_header_and_never_interpolated() -> None:
    assembly = PromptAssembly(
        contexts=(
            NamedText("git", "branch {{main}}"),
            NamedText("gone", ""),
            NamedText("cwd", "/w"),
        )
    )
    sections = render_context_sections(assembly)
    assert [section.name for section in sections] == ["git", "cwd"]
    assert join_context_sections(sections) == f"{CONTEXT_HEADER}\n\nbranch {{{{main}}}}\n\n/w"
    assert join_context_sections(()) == ""
