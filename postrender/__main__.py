"""The entry point of `python -m postrender` and of the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of the process, and report what stops the imports."""
    try:
        from postrender.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, MemoryError) as error:
        if sys.stderr is not None:
            reason = getattr(error, "strerror", None) or "no memory is left"
            print(
                f"error: Python cannot load postrender ({reason}). Raise the limit (ulimit -a)",
                file=sys.stderr,
            )
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
