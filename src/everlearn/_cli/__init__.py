"""What the command line does, apart from parsing: `everlearn.cli` calls it."""
