"""`python -m postrender`: the same as the console script."""

from postrender.cli import main

if __name__ == "__main__":
    main()
