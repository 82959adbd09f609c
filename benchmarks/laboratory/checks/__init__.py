"""For each claim, the conditions on the results from which its verdict follows."""
