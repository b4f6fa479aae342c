"""Run `python -m harness_plugins.launcher` as the command `dsh`."""

import sys

from harness_plugins.launcher.entry import main

if __name__ == "__main__":
    sys.exit(main())
