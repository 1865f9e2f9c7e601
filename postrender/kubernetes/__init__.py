"""Facts about Kubernetes and the tools around it: kinds, hashes, annotations, pod templates."""
