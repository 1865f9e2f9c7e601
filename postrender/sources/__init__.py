"""The sources of manifests: stdin, files, folders, git and Helm."""
