"""The plan of a render, made in `build` by these steps.

1. duplicates: drop repeated definitions of an object.
2. namespaces, links, auto_mount: resolve references and auto-mounts to objects of the stream.
3. strategy, well_known: decide the strategy of each ConfigMap and Secret.
4. helm_3_hooks: report originals that postrender would not keep under Helm 3.
5. mentions, readers: find programs that read an object by name, and adjust the decisions.
6. numbering, names, pins: number and name the revisions, and find names that a person wrote (pins).
7. retained: decide which earlier revisions (history) stay in the output.
8. workload_edits: collect the edits of references, and annotate pod templates.
9. attach_groups, group_names: assign revisions to attach groups.
10. configmap_edits: collect the edits that turn objects into revisions.
11. originals: find the originals that stay next to a revision.
12. retired_secrets, attacher_job, appended: build the appended objects.
13. protection, leftovers, last_owner: report problems with the result.

The modules model, workload_refs and workload_order serve several steps. The modules attacher_rbac
and attacher_policy are not a part of a plan, but build objects for `config rbac`.
"""
