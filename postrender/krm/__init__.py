"""kustomize and kpt: functionConfig, results, and the annotations that they add."""
