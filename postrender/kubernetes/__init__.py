"""Facts about Kubernetes and related tools: kinds, hashes, annotations and pod templates."""
