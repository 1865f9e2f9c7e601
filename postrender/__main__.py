"""`python -m postrender`, and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt while it is being imported is one like any other."""
    try:
        from postrender.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
