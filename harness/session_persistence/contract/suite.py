"""Put the parts of the suite together."""

from harness.session_persistence.contract.claims import ClaimCases
from harness.session_persistence.contract.crashes import CrashCases
from harness.session_persistence.contract.live_sessions import LiveSessionCases
from harness.session_persistence.contract.storing import StoringCases
from harness.session_persistence.contract.write_behind import WriteBehindCases


class PersistenceContract(StoringCases, ClaimCases, CrashCases, LiveSessionCases, WriteBehindCases):
    """Hold what every backend must do, whatever it stores sessions in."""
