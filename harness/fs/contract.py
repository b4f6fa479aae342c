"""Show that a backend keeps the filesystem contract: a suite to subclass in a test module.

    class TestMyFiles(FileSystemContract):
        @pytest.fixture
        async def fs(self): ...      # a mounted backend
        @pytest.fixture
        def root(self): ...          # absolute path of an empty directory that it serves

Tests are coroutines; run them with the anyio plugin in its automatic mode, and register the
marker `spec`, which names the items of the specification that a test shows.
"""

from harness.fs.contract_changing import ChangingContract
from harness.fs.contract_reading import ReadingContract

__all__ = ["FileSystemContract"]


class FileSystemContract(ReadingContract, ChangingContract):
    """Hold what every backend of `ctx.fs` must do, whatever it stores files in.

    Override `put` and `get` when `root` is not a directory of this machine.
    """
