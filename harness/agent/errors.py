"""Define what agents and their registry refuse, and why.

HarnessError
└── AgentError                     AGENT                       anything this package raises
    ├── AgentDisposedError         AGENT_DISPOSED              a delivery to an agent that ends
    ├── AgentUnbalancedError       AGENT_UNBALANCED            its log could not be closed
    ├── AgentBusyError             AGENT_BUSY                  maintenance while it runs
    ├── DuplicatePendingMessage    DUPLICATE_PENDING_MESSAGE   an id that is queued already
    ├── NoAgentFactoryError        NO_AGENT_FACTORY            no loop is mounted
    ├── FactoryConflictError       FACTORY_CONFLICT            two loops
    ├── AgentExistsError           AGENT_EXISTS                an id that is taken
    ├── SetupAbortedError          SETUP_ABORTED               the creation is not wanted any more
    ├── LoopInactiveError          LOOP_INACTIVE               the loop unloads
    ├── ResumeUnavailable          RESUME_UNAVAILABLE          no persistence service
    ├── SessionAlreadyLive         SESSION_ALREADY_LIVE        resume of a live session
    ├── DisposeReentrancy          DISPOSE_REENTRANCY          an agent awaits its own end
    └── NoInitiatorError           NO_INITIATOR                no agent caused this work
"""

from harness.errors import HarnessError


class AgentError(HarnessError):
    """Report that an agent or the registry refused something."""

    code: str = "AGENT"


class AgentDisposedError(AgentError):
    """Report a delivery to an agent that is disposed or being disposed."""

    code: str = "AGENT_DISPOSED"


class AgentUnbalancedError(AgentError):
    """Report a delivery to an agent whose log could not be closed; dispose and resume it."""

    code: str = "AGENT_UNBALANCED"


class AgentBusyError(AgentError):
    """Report that maintenance was asked of an agent that is not idle."""

    code: str = "AGENT_BUSY"


class DuplicatePendingMessage(AgentError, ValueError):
    """Report a message whose id is in the inbox already; nothing was queued."""

    code: str = "DUPLICATE_PENDING_MESSAGE"


class NoAgentFactoryError(AgentError):
    """Report that no agent loop is mounted."""

    code: str = "NO_AGENT_FACTORY"


class FactoryConflictError(AgentError):
    """Report a second agent loop in one registry."""

    code: str = "FACTORY_CONFLICT"


class AgentExistsError(AgentError):
    """Report an agent id that is taken."""

    code: str = "AGENT_EXISTS"


class SetupAbortedError(AgentError):
    """Report that a creation was given up; nothing was published."""

    code: str = "SETUP_ABORTED"


class LoopInactiveError(AgentError):
    """Report that the agent loop unloads, so that it makes no more agents."""

    code: str = "LOOP_INACTIVE"


class ResumeUnavailable(AgentError):
    """Report a resume without a persistence service; mount one to keep sessions."""

    code: str = "RESUME_UNAVAILABLE"


class SessionAlreadyLive(AgentError):
    """Report a resume of a session that an agent of this process drives."""

    code: str = "SESSION_ALREADY_LIVE"


class DisposeReentrancy(AgentError, RuntimeError):
    """Report an agent that awaits its own end; the end was requested and follows its turn."""

    code: str = "DISPOSE_REENTRANCY"


class NoInitiatorError(AgentError):
    """Report work that needs to know which agent caused it, and was caused by none."""

    code: str = "NO_INITIATOR"
