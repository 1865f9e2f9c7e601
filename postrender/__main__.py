"""`python -m postrender`, and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. An interrupt during the imports exits with 130, as during a command."""
    try:
        from postrender.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
