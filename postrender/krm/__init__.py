"""KRM functions for kustomize and kpt: functionConfig, results and tool annotations."""
