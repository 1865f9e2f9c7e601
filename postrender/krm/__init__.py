"""The input and output of a KRM function, a program that kustomize or kpt runs on manifests."""
