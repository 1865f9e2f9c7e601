"""The rules that say in which fields objects reference ConfigMaps and Secrets.

rule        the record of a rule
built_in    pod templates, RBAC, Ingresses, ServiceAccounts, analysis of Argo Rollouts; and the
            fields there that name something else
catalogue   custom kinds: one entry a kind, in a module for its field of work
custom      the user's rules and embedded pod specs, and strings that only look like references
"""
