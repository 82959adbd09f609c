"""`python -m everlearn.cli` is the same as the command `everlearn`."""

from . import main

if __name__ == "__main__":
    main()
