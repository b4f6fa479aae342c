"""What a program that drives an agent gets."""

import pytest

from harness.launch import Home
from harness.profiles import compose_profile, open_profile
from vendor_shims.expressions import Names, interpolate


@pytest.fixture
def config(tmp_path):
    home = Home(tmp_path, "config")
    composed = compose_profile(open_profile(home, "sdk-minimal", saves=False), home)
    rows = {row["id"]: row for row in composed.rows}

    def evaluated(row_id: str, **env: str):
        names = Names(env=env, home=str(home.root))
        return interpolate(rows[row_id]["config"], names)

    return evaluated


def test_it_is_one_list_that_does_not_build_on_the_base(tmp_path):
    home = Home(tmp_path, "config")
    profile = open_profile(home, "sdk-minimal", saves=False)
    composed = compose_profile(profile, home)
    assert profile.bundles == ("sdk-minimal",)
    assert profile.surface == "sdk"
    assert {composed.origin(row["id"]) for row in composed.rows} == {("bundle sdk-minimal",)}


@pytest.mark.spec("09-C030")
def test_the_environment_gives_the_system_prompt_and_the_context_window(config):
    assert config("system-prompt") == {"persona": ""}
    assert config("system-prompt", DSH_SYSTEM_PROMPT="Be brief.") == {"persona": "Be brief."}
    assert config("llm-deepseek").get("defaultContextWindow") is None
    made = config("llm-deepseek", DSH_CONTEXT_WINDOW="65536")
    assert made["defaultContextWindow"] == 65_536
