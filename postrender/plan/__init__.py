"""The plan of `postrender render`: what to change in the *stream*, the input of the command.

`build` runs the steps in order. Each decision has its module: which object a reference means
(namespaces, links), auto-mounts (mounts), the strategy (strategy, readers, by_label),
programs that read by name (by_name), revision names (names), retained revisions (history,
retained), edits (edits), the attacher (groups, attacher_job, attacher_objects, admission), findings
(findings).
"""
