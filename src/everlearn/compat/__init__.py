"""Doors to other libraries, each imported only when it is asked for, such as ``everlearn.compat.river``."""
