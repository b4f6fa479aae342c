"""The settings of a home, merged into the rows whose names their sections have."""

from __future__ import annotations

import pytest

from harness.profiles import (
    LayerFlag,
    LayerOptions,
    SettingsInvalidError,
    check_unmatched,
    compose_profile,
    open_profile,
    settings_layer,
)

SETTINGS = """\
# shared with others
ui:
  theme: dark
agent-loop:
  maxStepsPerTurn: 7 # few
llm-retry:
  maxRetries: 2
  texts: [a, "${env.HOME}"]
  inner: {deep: "x ${1} y", none: null}
"""


@pytest.fixture
def made(home):
    """Compose the headless profile of a home with settings."""

    def compose(text: str, options: LayerOptions | None = None):
        home.settings_file.parent.mkdir(parents=True, exist_ok=True)
        home.settings_file.write_text(text)
        return compose_profile(open_profile(home, "headless"), home, options or LayerOptions())

    return compose


def config_of(composed, entry_id: str):
    return next(row for row in composed.rows if row["id"] == entry_id).get("config")


def test_sections_lie_over_the_patch_files_and_below_the_flags(home, made):
    home.patch_file.parent.mkdir(parents=True, exist_ok=True)
    home.patch_file.write_text("- {id: agent-loop, merge: {maxStepsPerTurn: 3}}\n")
    composed = made(SETTINGS)
    assert check_unmatched(composed, strict=True) == ()
    assert config_of(composed, "agent-loop")["maxStepsPerTurn"] == 7
    assert composed.origin("agent-loop")[-1] == home.display(home.settings_file)
    flags = LayerOptions(flags=[LayerFlag("--set", "agent-loop.maxStepsPerTurn=9")])
    assert config_of(made(SETTINGS, flags), "agent-loop")["maxStepsPerTurn"] == 9
    nothing = made(SETTINGS, LayerOptions(no_user_config=True))
    assert "maxStepsPerTurn" not in (config_of(nothing, "agent-loop") or {})


def test_texts_are_no_expressions(made):
    config = config_of(made(SETTINGS), "llm-retry")
    assert config["texts"] == ["a", "$${env.HOME}"]
    assert config["inner"] == {"deep": "x $${1} y"}


def test_value_is_found_in_the_file(home, made):
    composed = made(SETTINGS)
    file = home.settings_file
    assert str(composed.place("agent-loop", "config", "maxStepsPerTurn")) == f"{file}:5:3"
    assert str(composed.place("llm-retry", "config", "inner", "deep")) == f"{file}:9:11"
    assert str(composed.place("llm-retry", "config", "texts", 1)) == f"{file}:8:3"


@pytest.mark.parametrize("text", ["", "# nothing\n", "ui: {theme: dark}\n", "\ufeffui: 5\n"])
def test_what_is_for_others_is_left_alone(home, made, text):
    assert settings_layer(home, {"agent-loop"}) is None
    composed = made(text)
    assert home.display(home.settings_file) not in [layer.name for layer in composed.layers]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agent-loop: 3\n", ":1: section agent-loop: expected a mapping"),
        ("agent-loop:\n  maxStepsPerTurn: [1\n", ":3:1"),
        ("agent-loop: {a: !expr x}\n", ":1:"),
        ("- a\n", "expected a mapping"),
    ],
)
def test_settings_that_cannot_be_taken(home, made, text, problem):
    with pytest.raises(SettingsInvalidError) as caught:
        made(text)
    assert str(caught.value).startswith(str(home.settings_file))
    assert problem in str(caught.value)
    assert made(text, LayerOptions(no_user_config=True)).rows


def test_settings_that_cannot_be_read(home, made):
    home.settings_file.mkdir(parents=True)
    with pytest.raises(SettingsInvalidError, match="directory"):
        settings_layer(home, {"a"})
