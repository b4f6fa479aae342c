"""Check that a storage backend keeps the contract of `ctx.session_persistence`.

Subclass `PersistenceContract` in a test module and say how to reach one empty storage:

    class TestMyStorage(PersistenceContract):
        def make_backend(self): ...          # a backend over the storage, as each process has one
        def fingerprint(self): ...           # something equal while stored bytes are unchanged
        def tear(self, session_id): ...      # leave half a record at the end of a log

Tests are coroutines; run them with the anyio plugin in its automatic mode, and register the
marker `spec`, which names the items of the specification that a test shows.
`harness.session_persistence` itself does not import this package.
"""

from harness.session_persistence.contract.events import a_header, a_log, run_turn
from harness.session_persistence.contract.rehearsed import RehearsedBackend
from harness.session_persistence.contract.stage import ContractStage, Process
from harness.session_persistence.contract.suite import PersistenceContract

__all__ = [
    "ContractStage",
    "PersistenceContract",
    "Process",
    "RehearsedBackend",
    "a_header",
    "a_log",
    "run_turn",
]
