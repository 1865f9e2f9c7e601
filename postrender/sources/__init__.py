"""Where manifests come from: stdin, files, folders, git and Helm."""
