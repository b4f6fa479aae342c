"""Put the parts of the suite together."""

from harness.agent.contract.answers import RetryCases, StepResultCases
from harness.agent.contract.cancelling import CancelCases
from harness.agent.contract.continuation import ContinuationCases
from harness.agent.contract.creation import CreationCases
from harness.agent.contract.disposal import DisposalCases
from harness.agent.contract.ending import DisposalOrderCases
from harness.agent.contract.facts import AttributionCases, FactCases, RuntimeContextCases
from harness.agent.contract.failures import FailureCases
from harness.agent.contract.inbox import InboxCases, JournalCases
from harness.agent.contract.maintenance import MaintenanceCases
from harness.agent.contract.parallel_tools import ParallelToolCases
from harness.agent.contract.prompts import PreStepCases, PromptCases
from harness.agent.contract.races import RaceCases
from harness.agent.contract.requests import ObserverCases, RequestCases
from harness.agent.contract.resuming import ResumeCases
from harness.agent.contract.steering import SteeringCases
from harness.agent.contract.streams import StreamCases
from harness.agent.contract.tool_races import ToolRaceCases
from harness.agent.contract.turns import TurnCases


class AgentLoopContract(
    CreationCases,
    DisposalOrderCases,
    TurnCases,
    SteeringCases,
    PromptCases,
    PreStepCases,
    RequestCases,
    ObserverCases,
    StepResultCases,
    RetryCases,
    ContinuationCases,
    StreamCases,
    FailureCases,
    RaceCases,
    ToolRaceCases,
    CancelCases,
    DisposalCases,
    MaintenanceCases,
    FactCases,
    AttributionCases,
    RuntimeContextCases,
    InboxCases,
    JournalCases,
    ResumeCases,
    ParallelToolCases,
):
    """Hold what every agent loop must do."""
