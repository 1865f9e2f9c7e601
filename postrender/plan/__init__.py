"""The plan of `postrender render`.

The *stream* is the input of `postrender render`. The module `build` runs these steps. Each line
starts with the modules of the step.

1. duplicates: drop repeated definitions of ConfigMaps and Secrets.
2. namespaces, links, auto_mount: resolve references and auto-mounts to objects of the stream.
3. strategy, well_known: decide the strategy (rename, checksum or ignore) of each object.
4. mentions, readers: find programs that read objects by name, and adjust the decisions of step 3.
5. helm_3_hooks: report originals that postrender would not keep under Helm 3.
6. numbering, names: number and name the revisions.
7. pins: find the revision names that a person wrote into pod templates.
8. retained: decide which objects of earlier outputs stay in the output.
9. workload_edits: collect the edits of references, and annotate pod templates.
10. attach_groups, group_names: assign revisions to attach groups.
11. configmap_edits: collect the edits that turn objects into revisions.
12. originals: find the originals whose new revision is already in the stream.
13. retired_secrets, attacher_job, appended: build the objects that the output appends.
14. protection, leftovers, last_owner: report problems with the output.

Several steps use the modules history, model, workload_refs and workload_order. Only the commands
`config rbac` and `config admission-policy` use attacher_rbac and attacher_policy.
"""
