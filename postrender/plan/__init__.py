"""The plan of a render, made in `build` by these steps.

1. duplicates: drop objects that are defined twice.
2. namespaces, links, auto_mount: resolve references and auto-mounts to objects of the stream.
3. strategy: decide for each ConfigMap and Secret whether to rename the object.
4. numbering, names: number and name the revisions.
5. retained: decide which earlier revisions (history) stay in the output.
6. workload_edits, configmap_edits: collect the edits (links and auto_mount build some of them).
7. attach_groups: assign revisions to attach groups.
8. originals: find the originals that stay next to a revision.
9. attacher_job, appended: build the appended objects.
10. leftovers: report strings that still hold a base name.

The modules model and workload_refs serve several steps.
"""
