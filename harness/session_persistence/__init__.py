"""Store session logs durably and give them back whole: the seam, its coordinator, its contract."""

from harness.session_persistence.backend import (
    Lease,
    PersistenceBackend,
    RawStored,
    TornTail,
)
from harness.session_persistence.chunk_rows import decode_storage_record, pack_chunk_runs
from harness.session_persistence.collector import paused_collector
from harness.session_persistence.coordinator import PersistenceCoordinator
from harness.session_persistence.errors import (
    AppendSequenceError,
    EventTooLargeError,
    LeaseHolder,
    MalformedRecordError,
    NotLosslessJsonError,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionBusyError,
    SessionFormatUnsupportedError,
    SessionHandleClosedError,
    SessionNotFoundError,
    SessionOwnershipLostError,
    SessionPersistenceCorruptionError,
    SessionPersistenceError,
    SessionReadOnlyError,
)
from harness.session_persistence.events import (
    PERSISTENCE_DEGRADED,
    PERSISTENCE_RECOVERED,
    PersistenceDegraded,
    PersistenceRecovered,
)
from harness.session_persistence.handle import SessionHandle
from harness.session_persistence.lines import encode_lines
from harness.session_persistence.memory import MemoryBackend, MemoryStorage
from harness.session_persistence.preparation import SessionPreparation
from harness.session_persistence.service import SessionPersistence
from harness.session_persistence.types import (
    Access,
    ArtifactLocation,
    FormatStatus,
    LeaseState,
    RawArtifact,
    Revision,
    SessionSnapshot,
    StoredSession,
)
from harness.session_persistence.vocabulary import require_known_type
from harness.session_persistence.writer import WriteBehind

__all__ = [
    "PERSISTENCE_DEGRADED",
    "PERSISTENCE_RECOVERED",
    "Access",
    "AppendSequenceError",
    "ArtifactLocation",
    "EventTooLargeError",
    "FormatStatus",
    "Lease",
    "LeaseHolder",
    "LeaseState",
    "MalformedRecordError",
    "MemoryBackend",
    "MemoryStorage",
    "NotLosslessJsonError",
    "PersistenceBackend",
    "PersistenceCoordinator",
    "PersistenceDegraded",
    "PersistenceRecovered",
    "RawArtifact",
    "RawStored",
    "Revision",
    "SessionAlreadyExistsError",
    "SessionAlreadyOwnedError",
    "SessionBusyError",
    "SessionFormatUnsupportedError",
    "SessionHandle",
    "SessionHandleClosedError",
    "SessionNotFoundError",
    "SessionOwnershipLostError",
    "SessionPersistence",
    "SessionPersistenceCorruptionError",
    "SessionPersistenceError",
    "SessionPreparation",
    "SessionReadOnlyError",
    "SessionSnapshot",
    "StoredSession",
    "TornTail",
    "WriteBehind",
    "decode_storage_record",
    "encode_lines",
    "pack_chunk_runs",
    "paused_collector",
    "require_known_type",
]
