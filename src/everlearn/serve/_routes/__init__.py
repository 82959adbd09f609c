"""The routes, one file for each resource; each translates a request into one call of the service."""
