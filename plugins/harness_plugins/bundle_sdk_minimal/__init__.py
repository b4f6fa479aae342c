"""The bundle `sdk-minimal`: a shell for programs, and little else; `patch.yml` is all of it."""

__all__: list[str] = []
