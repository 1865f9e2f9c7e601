"""The steps of postrender.plan.build, in their order.

duplicates, resolve and links (what names what), decide (what is done and why), lineage (what was
before) and naming, choices (all of that together), carry (what stays of earlier outputs), workloads
and revised (the edits), attach_sets (what the Job looks after), appended (whole new objects).
"""
