"""The steps of postrender.plan, in their order.

duplicates, resolve and links (what names what), decide (what is done and why), naming, choices
(all of that together), workloads and revised (the edits), attach_sets (what the Job looks after).
"""
