"""What a run without a person adds to the base."""

import attrs

from harness.launch import Home
from harness.profiles import compose_profile, layer_list, open_profile


def test_it_adds_a_surface_and_the_words_that_tell_the_model_that_nobody_answers(tmp_path):
    home = Home(tmp_path, "config")
    profile = open_profile(home, "headless", saves=False)
    base = compose_profile(attrs.evolve(profile, bundles=("base",)), home)
    whole = compose_profile(profile, home)
    changed = [row["id"] for row in whole.rows if row not in base.rows]
    assert changed == ["system-prompt", "surface"]
    assert whole.origin("system-prompt") == ("bundle base", "bundle headless")
    (prompt,) = [row["config"]["persona"] for row in whole.rows if row["id"] == "system-prompt"]
    assert "Nobody can answer questions while you work" in prompt
    assert "{{cwd}}" in prompt
    assert [one.name for one in layer_list(profile, home)] == ["bundle base", "bundle headless"]
