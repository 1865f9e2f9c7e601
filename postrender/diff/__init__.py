"""`postrender diff`: a preview of the effect of a change."""

# The sections of a preview for `--only`. The command line needs these names before Python loads any
# other module of the package.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
