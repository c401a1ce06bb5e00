"""The command line as ``python -m sdv_plausible``."""

import sys

from sdv_plausible.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
