"""The bundle `base`: all that an agent needs but a surface; `patch.yml` is all of it."""

__all__: list[str] = []
