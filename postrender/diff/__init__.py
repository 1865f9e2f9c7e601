"""What a change will do, told before it is applied: `model` is built once, formats print it."""

# The parts of a preview that can be asked for on the command line, which must know them without
# loading any.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
