"""The in-memory backend keeps the contract."""

from harness.session_persistence import MemoryBackend, MemoryStorage, encode_lines
from harness.session_persistence.contract import PersistenceContract


class TestMemory(PersistenceContract):
    def setup_method(self):
        self.storage = MemoryStorage()

    def make_backend(self):
        return MemoryBackend(self.storage)

    def fingerprint(self):
        return {
            name: (
                encode_lines(log.events, pack_chunks=False, max_line_bytes=2**40),
                log.n_torn_bytes,
            )
            for name, log in self.storage.logs.items()
        }

    def tear(self, session_id: str):
        self.storage.tear(session_id)
