"""The bundle `headless`: what a run without a person adds to the base; `patch.yml` is all of it."""

__all__: list[str] = []
