"""Check that a bash executor keeps the contract of `ctx.bash`.

Subclass `BashContract` in a test module and give it a fixture `bash` with the executor, mounted
in a running context. Needs pytest with anyio, and a system with `/proc`; `harness.bash` itself
does not import this package.

    class TestMyExecutor(BashContract):
        @pytest.fixture
        async def bash(self): ...
"""

from harness.bash.contract.processes import run, running, until_gone, until_running
from harness.bash.contract.suite import BashContract

__all__ = ["BashContract", "run", "running", "until_gone", "until_running"]
