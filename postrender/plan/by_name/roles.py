"""Roles that permit a program to read or change an object by its name.

    kind: Role
    rules:
      - resources: [configmaps]
        resourceNames: [web-config]
        verbs: [get, update]

If the verbs contain `update`, `patch` or `*`, the program possibly changes the object. postrender
then does not rename the object, unless the user sets the strategy of the object.

A policy rule without resourceNames permits access to all objects of a kind, and is not a sign. If
another sign shows that a program reads an object, this policy rule shows whether the program can
also change the object.

A Role is not a sign if all subjects of its RoleBindings are people. postrender adds the name of the
revision to the Role, so these people can access the revision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.kubernetes.kinds import RBAC_GROUP, roots_of
from postrender.plan.by_name.mentions import Evidence, Sign
from postrender.plan.links import Link
from postrender.references.rule import RBAC
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_WRITE_VERBS = frozenset({"update", "patch", "*"})
_READ_VERBS = frozenset({"get", "list", "watch", "*"})
_ROLES = frozenset({"Role", "ClusterRole"})
_BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})

# The kind and name of a role.
_RoleKey = tuple[str, str]


def find_roles(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each name in resourceNames, unless all subjects of the role are people."""
    links = [
        link
        for link in evidence.links
        if link.reference.rule.family == RBAC and not link.source.is_attacher
    ]
    permissions = _Permissions(evidence) if links and _may_bind_people(evidence) else None
    roles = {(link.source.identity.kind, link.source.identity.name) for link in links}
    of_people = {role for role in roles if permissions and permissions.is_of_people(role)}
    for link in links:
        if (link.source.identity.kind, link.source.identity.name) not in of_people:
            yield _sign(evidence, link)


def _may_bind_people(evidence: Evidence) -> bool:
    """Whether the text of the stream can contain a binding without ServiceAccounts."""
    stream = evidence.inventory.stream
    return any(
        "ServiceAccount" not in text and _may_have(_BINDINGS, text, kind)
        for text, kind in zip(stream.texts, stream.kinds, strict=True)
    )


def _sign(evidence: Evidence, link: Link) -> Sign:
    path = link.reference.path
    verbs = value_at(evidence.inventory.document(link.source.document).data, (*path[:-2], "verbs"))
    return Sign(
        target=link.target,
        reason=f"{link.source.identity} lists the {link.target.identity.kind} in resourceNames",
        source=link.source,
        location=evidence.inventory.location_of_reference(link.source, link.reference, path),
        is_write=_permits(verbs, _WRITE_VERBS),
    )


def _permits(verbs: Json, expected: AbstractSet[str]) -> bool:
    return isinstance(verbs, list) and not expected.isdisjoint(map(str, verbs))


def with_writers(evidence: Evidence, signs: Sequence[Sign]) -> list[Sign]:
    """The signs, with is_write set if roles permit the source to change the target.

    The ServiceAccount of the source must be able to change all objects of the target's kind.
    """
    if not any(sign.source.templates for sign in signs):
        return list(signs)
    permissions = _Permissions(evidence)
    writers = {
        kind: permissions.writers_of(kind) for kind in {sign.target.identity.kind for sign in signs}
    }
    return [
        sign._replace(is_write=True)
        if sign.source.templates
        and not writers[sign.target.identity.kind].isdisjoint(_accounts_of(evidence, sign))
        else sign
        for sign in signs
    ]


def may_read_all(evidence: Evidence, kind: str) -> bool:
    """Whether a role permits programs other than attachers to read all objects of a kind."""
    resources = _resources_of(kind)
    attachers = {item.identity.name for item in evidence.inventory.items if item.is_attacher}
    return any(
        value_at(data, ("metadata", "name")) not in attachers
        and not resources.isdisjoint(_general_resources(data, _READ_VERBS))
        for data in _rbac_objects(evidence)
    )


def _resources_of(kind: str) -> set[str]:
    return {f"{kind.lower()}s", "*"}


def _accounts_of(evidence: Evidence, sign: Sign) -> set[str]:
    data = evidence.inventory.document(sign.source.document).data
    return {
        str(value_at(data, (*template, "spec", "serviceAccountName")) or "default")
        for template in sign.source.templates
    }


class _Permissions:
    """The permissions that the roles and bindings of a stream grant.

    writable: by role, the resources (such as `configmaps`) that it permits to change without
        resourceNames.
    subjects: by role, the subjects of the role's bindings.
    """

    __slots__ = ("subjects", "writable")

    def __init__(self, evidence: Evidence) -> None:
        self.writable: dict[_RoleKey, set[str]] = {}
        self.subjects: dict[_RoleKey, list[Mapping[str, Json]]] = defaultdict(list)
        for data in _rbac_objects(evidence):
            kind, name = str(data.get("kind")), str(value_at(data, ("metadata", "name")))
            if kind in _ROLES:
                self.writable[kind, name] = set(_general_resources(data, _WRITE_VERBS))
            else:
                role = mapping_at(data, ("roleRef",))
                key = str(role.get("kind")), str(role.get("name"))
                self.subjects[key] += mappings_in(data.get("subjects"))

    def writers_of(self, kind: str) -> set[str]:
        """The names of the ServiceAccounts that may change all objects of a kind."""
        resources = _resources_of(kind)
        return {
            str(subject.get("name"))
            for role, subjects in self.subjects.items()
            if not resources.isdisjoint(self.writable.get(role, ()))
            for subject in subjects
        }

    def is_of_people(self, role: _RoleKey) -> bool:
        """Whether a role has bindings, and all bindings are to users and groups of people.

        The names of users and groups of Kubernetes itself begin with `system:`.
        """
        subjects = self.subjects.get(role, [])
        return bool(subjects) and all(
            subject.get("kind") in ("User", "Group")
            and not str(subject.get("name")).startswith("system:")
            for subject in subjects
        )


def _rbac_objects(evidence: Evidence) -> Iterator[Mapping[str, Json]]:
    stream = evidence.inventory.stream
    for index, text in enumerate(stream.texts):
        if _may_have(_ROLES | _BINDINGS, text, stream.kinds[index]):
            for _, root in roots_of(evidence.inventory.document(index).data):
                if isinstance(root, dict) and str(root.get("kind")) in _ROLES | _BINDINGS:
                    yield root


def _may_have(kinds: AbstractSet[str], text: str, kind: str) -> bool:
    return kind in kinds or (not kind and RBAC_GROUP in text)


def _general_resources(role: Mapping[str, Json], verbs: AbstractSet[str]) -> Iterator[str]:
    """The resources for which policy rules without resourceNames permit one of the verbs."""
    for rule in mappings_in(role.get("rules")):
        resources = rule.get("resources")
        is_general = not rule.get("resourceNames")
        if is_general and _permits(rule.get("verbs"), verbs) and isinstance(resources, list):
            yield from map(str, resources)
