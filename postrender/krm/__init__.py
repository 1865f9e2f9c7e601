"""KRM functions for kustomize and kpt: functionConfig, results, and annotations of the tools."""
