"""`python -m postrender`, and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt during its import ends the process like any other."""
    try:
        from postrender.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
