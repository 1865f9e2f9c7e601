"""`postrender diff`: the effect of a change, as a preview that a format prints."""

# The sections of a preview for `--only`. The command line needs these names before Python loads any
# other module of the package.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
