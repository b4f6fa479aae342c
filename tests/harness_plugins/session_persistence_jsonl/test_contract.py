"""The JSONL backend keeps the contract, packed and unpacked."""

from pathlib import Path

import pytest

from harness.session_persistence.contract import PersistenceContract
from harness_plugins.session_persistence_jsonl import JsonlBackend, JsonlConfig


class TestJsonl(PersistenceContract):
    @pytest.fixture(autouse=True)
    def _root(self, tmp_path: Path):
        self.root = tmp_path / "sessions"

    def make_backend(self):
        return JsonlBackend(JsonlConfig(root=str(self.root)))

    def fingerprint(self):
        return {str(path): path.read_bytes() for path in self.root.glob("*/*/*.jsonl")}

    def tear(self, session_id: str):
        (path,) = self.root.glob(f"*/{session_id}/*.jsonl")
        with path.open("ab") as log:
            log.write(b'{"type":"todo/wri')


class TestUnpackedJsonl(TestJsonl):
    def make_backend(self):
        return JsonlBackend(JsonlConfig(root=str(self.root), pack_chunks=False, fsync="checkpoint"))
