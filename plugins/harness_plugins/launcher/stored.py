"""Find a stored session by what a user typed."""

from difflib import get_close_matches

from harness.session import SessionHeader
from harness.session_persistence import SessionPersistence, SessionSnapshot
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.errors import CommandError

MIN_PREFIX = 6
_ID_PREFIX = "session-"
_N_NEAREST = 3


async def find_session(persistence: SessionPersistence, text: str) -> SessionHeader:
    """Return the header of the session with this id, or with this unique beginning of an id.

    Raises:
        CommandError: no session, or several; names the nearest.
        SessionPersistenceError: it is damaged, or of another format.
    """
    snapshot = await persistence.stat(text)
    if snapshot is None:
        snapshot = _pick(text, list(await persistence.list_snapshots()))
    if snapshot.header is None:
        return (await persistence.inspect(snapshot.id)).header  # raises why there is none
    return snapshot.header


def _pick(text: str, snapshots: list[SessionSnapshot]) -> SessionSnapshot:
    found = [one for one in snapshots if _begins(one.id, text)]
    if len(found) == 1:
        return found[0]
    if found:
        near = [one.id for one in found[-_N_NEAREST:]]
        sentence = f"{len(found)} sessions begin with {text!r}: {', '.join(near)}"
        raise CommandError(Complaint("SESSION_NOT_FOUND", sentence, ("give more of the id",)))
    ids = [one.id for one in snapshots]
    near = get_close_matches(text, ids, n=_N_NEAREST) or ids[-_N_NEAREST:]
    hint = f"nearest: {', '.join(near)}" if near else "nothing is stored here yet"
    raise CommandError(
        Complaint(
            "SESSION_NOT_FOUND",
            f"no stored session {text!r}",
            (hint, "see what is stored: dsh sessions list --all"),
        )
    )


def _begins(session_id: str, text: str) -> bool:
    if len(text) < MIN_PREFIX or text == _ID_PREFIX:
        return False
    return session_id.startswith(text) or session_id.removeprefix(_ID_PREFIX).startswith(text)
