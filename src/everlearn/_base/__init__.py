"""What every learner stands on: estimator base, validation, kernels, the native machine, files."""
