"""Facts about Kubernetes and related tools.

kinds          kinds and identities of objects, Lists, and the kinds with pod templates
hashing        content hashes, the names of revisions, and render IDs
annotations    the labels and annotations of postrender and of Helm, Argo CD, Flux and other tools
attach_groups  the names of attach groups, and their inventories
uses           what an object needs from other objects, as a table
validation     what the API server rejects, as tables
"""
