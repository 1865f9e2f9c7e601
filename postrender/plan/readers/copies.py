"""Annotations that let another program copy the object to other namespaces.

    kind: ConfigMap
    metadata:
      name: web-config
      annotations:
        reflector.v1.k8s.emberstack.com/reflection-allowed: "true"

Objects in the other namespaces reference the copies by the base name.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.copied_objects import copier_of
from postrender.plan.by_name.signs import Evidence, Sign


def find(evidence: Evidence) -> Iterator[Sign]:
    """Return a sign for each renamed object that another program copies."""
    for item in evidence.renamed:
        program, annotation = copier_of(item.annotations)
        if program:
            path = (*item.path, "metadata", "annotations", annotation)
            yield Sign(
                target=item,
                reason=f"the annotation {annotation} lets {program} copy the "
                f"{item.identity.kind} to other namespaces",
                source=item,
                location=evidence.inventory.location_of(item, path),
            )
