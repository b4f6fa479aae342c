"""Demand that a session has read a file before it changes it."""

from harness.fs import (
    EDIT_INTENT,
    OBSERVED,
    WRITE_INTENT,
    CreateIfAbsent,
    FsActor,
    FsError,
    FsTarget,
    FsVersion,
    Observation,
    Present,
    ReplaceIfVersion,
    WriteIntent,
)
from harness.session import SESSION_DISPOSED
from harness_plugins.fs_policy.config import FsPolicyConfig
from harness_plugins.fs_policy.memory import SeenFiles
from vendor_shims.cordis import Next, Plugin


class FsPolicy(Plugin):
    """Decide every write and edit from what the acting session has seen.

    Source: upstream fs policy, read-before-edit. The listeners answer without `next`, so a
    listener that is to win over this policy registers with `prepend=True`.
    """

    name = "fs-policy"
    guard = True  # nothing may boot without it where a profile has it
    Config = FsPolicyConfig
    config: FsPolicyConfig

    def start(self) -> None:
        """Listen to the questions and the observations of whoever touches files."""
        self._seen = SeenFiles(self.config.max_files_per_session)
        self.ctx.on(WRITE_INTENT, self._write_intent)
        self.ctx.on(EDIT_INTENT, self._edit_intent)
        self.ctx.on(OBSERVED, self._record)
        self.ctx.on(SESSION_DISPOSED, self._seen.forget)

    def _write_intent(
        self, target: FsTarget, actor: FsActor, _next: Next[WriteIntent | None]
    ) -> WriteIntent:
        observation = self._seen.recall(actor.session, target)
        if isinstance(observation, Present):
            return ReplaceIfVersion(observation.version)
        return CreateIfAbsent()

    def _edit_intent(
        self, target: FsTarget, actor: FsActor, _next: Next[FsVersion | None]
    ) -> FsVersion:
        observation = self._seen.recall(actor.session, target)
        if observation is None:
            raise FsError(
                f"'{target.display_path}' has not been read in this session.",
                code="FS_NOT_OBSERVED",
            )
        if not isinstance(observation, Present):
            raise FsError(f"'{target.display_path}' does not exist.", code="FS_NOT_FOUND")
        return observation.version

    def _record(self, target: FsTarget, observation: Observation, actor: FsActor) -> None:
        if actor.session is not None:
            self._seen.record(actor.session, target, observation)
