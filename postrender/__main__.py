"""The entry point of `python -m postrender` and of the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of the process. An interrupt during the imports causes exit code 130."""
    try:
        from postrender.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
