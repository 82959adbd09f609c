"""Serving: programs and people share one learner, behind an address."""
