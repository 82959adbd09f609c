"""Submodular selection of rows by their similarities, for exemplars, queries and semi-supervised learners."""
