"""`python -m everlearn.cli` is the same as the command `everlearn`."""

from .commands import main

main()
