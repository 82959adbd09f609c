"""Adapters for other libraries. Import them explicitly, for example ``everlearn.compat.river``."""
