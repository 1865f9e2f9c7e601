"""The strategy for each ConfigMap and Secret, with a reason.

- rename: the object becomes a revision.
- checksum: the object keeps its name, and pod templates get a checksum of its content.
- ignore: the object stays unchanged.

A reason that no rule can override belongs into _preset_decision, a default that a rule or an
annotation can override into _exemption, a reason to keep the original into _keep_reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postrender.config.settings import IGNORE, RENAME, STRATEGIES, Settings, StrategyRule
from postrender.errors import Finding, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import (
    ENV_FROM_ANNOTATION,
    HASH_ANNOTATION,
    HELM_HOOK_ANNOTATION,
    KEEP_ORIGINAL_ANNOTATION,
    KEYED_HASH,
    STRATEGY_ANNOTATION,
    filler_of,
    find_placeholder,
)
from postrender.kubernetes.hashing import HashKey, fits_content, without_hash
from postrender.kubernetes.kinds import CONFIG_MAP, DATA_FIELDS, SECRET
from postrender.plan.by_label import LabelFinders, find_finders
from postrender.plan.by_name.mentions import Sign, is_policy
from postrender.plan.links import Link
from postrender.plan.readers import well_known_reader
from postrender.records import NamedTuple
from postrender.text import conjoined, shown

# The types of Secrets that a controller or a tool looks up by name.
_OWNED_SECRET_TYPES = (
    "helm.sh/release.v1",
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
)

# The annotations with a fixed set of values, and these values.
_ALLOWED_VALUES = {
    STRATEGY_ANNOTATION: STRATEGIES,
    KEEP_ORIGINAL_ANNOTATION: ("true", "false"),
    ENV_FROM_ANNOTATION: ("true", "false"),
}
# kapp adds a number to the name, and rewrites the references. An object that kapp has applied has
# the label, and its number.
_VERSIONED, _APPLIED_BY_KAPP = "kapp.k14s.io/versioned", "kapp.k14s.io/app"
# The key that SOPS adds to an encrypted object.
_SOPS = "sops"
_NOT_REFERENCED = "the strategy is rename, but workloads do not reference the object"
_UNUSED = {kind: f"workloads do not reference the {kind}" for kind in ("ConfigMap", "Secret")}
_FIXED = {
    "ConfigMap": "OLD was applied without postrender",
    "Secret": "the setting secrets is not set",
}
_MAY_REPLACE = "a program may replace the placeholder"


class StrategyDecision(NamedTuple):
    """The decision for one ConfigMap or Secret.

    reason: a clause, such as `the ConfigMap is a hook`.
    is_revision: whether the object in the stream is a revision (see is_known_revision).
    is_adopted: whether the object is a revision without its metadata, as kustomize generates it.
        postrender adds the metadata.
    keep_reason: why the original stays next to its revision, "" if it does not stay.
    is_immutable: whether the revision is immutable.
    is_requested: whether a rule or an annotation sets the strategy.
    is_keep_decided: whether a rule or an annotation decides if the original stays.
    helm_hook: the only reason why the original stays, if that is a hook of Helm, else None.
    """

    item: Item
    strategy: str
    reason: str
    is_revision: bool = False
    is_adopted: bool = False
    keep_reason: str = ""
    is_immutable: bool = True
    is_requested: bool = False
    is_keep_decided: bool = False
    helm_hook: Item | None = None

    @property
    def base_name(self) -> str:
        return without_hash(self.item.identity.name) if self.is_adopted else self.item.base_name


def decide_strategies(
    inventory: Inventory,
    links: Mapping[ItemKey, Sequence[Link]],
    mounted_in: Mapping[ItemKey, Item],
    settings: Settings,
    hooks_by_target: Mapping[ItemKey, str],
) -> tuple[list[StrategyDecision], list[Finding]]:
    """A decision for every revisable object, and findings about these objects.

    links: the resolved references, by the referenced object.
    mounted_in: by auto-mounted object, the workload that mounts the object.
    hooks_by_target: by object, the identity of a hook of the previous release that references the
        object.
    Raises UserError for an invalid value of an annotation, and for an invalid object that is a
    revision or whose strategy is not ignore.
    """
    decisions: list[StrategyDecision] = []
    findings: list[Finding] = []
    finders = find_finders(inventory)
    for item in inventory.items:
        if not item.has_content or item.is_attacher:
            continue
        item_links = links.get(item.key, ())
        decision = _preset_decision(item)
        if item.identity.group_kind in inventory.fixed_kinds:
            decision = decision or StrategyDecision(item, IGNORE, _FIXED[item.identity.kind])
        else:
            _check_annotations(inventory, item)
            workload = mounted_in.get(item.key)
            decision = decision or _decide(item, item_links, workload, settings, finders)
            if decision.is_revision and not (item.is_revision or inventory.is_output):
                is_adopted = _is_adoptable(item, item_links, settings, finders)
                decision = decision._replace(is_adopted=is_adopted)
        if inventory.is_output and decision.strategy == RENAME:
            decision = StrategyDecision(item, IGNORE, "the output contains the object as it is")
        if item.error and (decision.strategy != IGNORE or decision.is_revision):
            raise item.error
        if item.error:
            findings.append(_invalid_finding(inventory, item, item.error))
        # A hook of the previous release reads the base name, so the original stays even with the
        # annotation `keep-original: "false"`.
        if decision.strategy == RENAME and item.key in hooks_by_target:
            hook, kind = hooks_by_target[item.key], item.identity.kind
            reason = f"{hook}, a hook of the previous release, references the {kind}"
            decision = decision._replace(keep_reason=decision.keep_reason or reason, helm_hook=None)
        decisions.append(decision)
        if decision.is_revision:
            findings += _stale_revision_findings(inventory, decision, item_links, settings.hash_key)
        elif decision.reason.startswith(_MAY_REPLACE):
            findings.append(_placeholder_finding(inventory, decision))
        elif decision.reason == _NOT_REFERENCED:
            findings.append(_unreferenced_finding(inventory, item))
        elif decision.strategy == RENAME and not _has_data(item):
            findings.append(_empty_finding(inventory, item))
    return decisions, findings


def apply_signs(
    decisions: Sequence[StrategyDecision], signs: Mapping[ItemKey, Sign]
) -> tuple[list[StrategyDecision], list[Finding]]:
    """The decisions, changed according to signs, and a finding for each change.

    If a program reads an object by name, the original stays next to its revision. If the program
    can also change the object, the strategy is ignore. A sign never overrides what a rule or an
    annotation decides.
    """
    changed: list[StrategyDecision] = []
    findings: list[Finding] = []
    for decision in decisions:
        sign = signs.get(decision.item.key)
        applied = _with_sign(decision, sign) if sign else decision
        changed.append(applied)
        if sign and applied is not decision:
            findings.append(_by_name_finding(applied, sign))
    return changed, findings


def _with_sign(decision: StrategyDecision, sign: Sign) -> StrategyDecision:
    if decision.strategy != RENAME or decision.is_keep_decided:
        return decision
    if sign.is_write and not decision.is_requested:
        actor = "policy may test" if is_policy(sign.source) else "program may change"
        reason = f"a {actor} the {decision.item.identity.kind}: {sign.reason}"
        return decision._replace(strategy=IGNORE, reason=reason, keep_reason="")
    return decision if decision.keep_reason else decision._replace(keep_reason=sign.reason)


def _by_name_finding(decision: StrategyDecision, sign: Sign) -> Finding:
    identity = decision.item.identity
    if decision.strategy == IGNORE:
        effect = f"postrender does not rename {identity}"
        actor = "a policy tests" if is_policy(sign.source) else "a program changes"
        fix = (
            f"If {actor} {identity}, add the annotation {STRATEGY_ANNOTATION}: ignore to "
            f"{identity}. Otherwise, set {STRATEGY_ANNOTATION} to rename"
        )
    else:
        effect = f"the output keeps the original {identity}"
        fix = (
            f"If a program reads {identity} by name, add the annotation "
            f'{KEEP_ORIGINAL_ANNOTATION}: "true" to {identity}. Otherwise, set '
            f'{KEEP_ORIGINAL_ANNOTATION} to "false"'
        )
    return Finding(
        code="by-name",
        problem=f"{effect}, because {decision.keep_reason or decision.reason}",
        fix=fix,
        location=sign.location,
        strict=True,
    )


def _invalid_finding(inventory: Inventory, item: Item, error: UserError) -> Finding:
    return Finding(
        code="invalid-object",
        problem=error.problem,
        fix=error.fix,
        location=error.location or inventory.location_of(item),
    )


def _preset_decision(item: Item) -> StrategyDecision | None:
    """A decision that rules and annotations cannot change, None if there is none."""
    kind = item.identity.kind
    if item.is_hook:
        return StrategyDecision(item, IGNORE, f"the {kind} is a hook")
    if item.has_generated_name:
        return StrategyDecision(item, IGNORE, "the API server generates the name (generateName)")
    content = item.content
    if content.get("type") in _OWNED_SECRET_TYPES:
        reason = f"Helm or Kubernetes looks up a Secret of the type {content['type']} by name"
        return StrategyDecision(item, IGNORE, reason)
    if is_known_revision(item):
        reason = f"the {kind} is already a revision"
        if _is_keyed(item):
            reason += ", with a keyed hash"
        return StrategyDecision(item, IGNORE, reason, is_revision=True)
    return None


def is_known_revision(item: Item) -> bool:
    """Whether an object has the metadata of a revision, or a name that ends in its hash."""
    base_name = without_hash(item.identity.name)
    has_hash = bool(base_name) and item.error is None
    return item.is_revision or (has_hash and _matches_hash(item, base_name))


def _matches_hash(item: Item, base_name: str, key: HashKey | None = None) -> bool:
    kind, name = item.identity.group_kind, item.identity.name
    return fits_content(name, base_name, kind, item.content, key)


def _is_adoptable(
    item: Item, links: Sequence[Link], settings: Settings, finders: LabelFinders
) -> bool:
    """Whether a ConfigMap with the name of a revision would be renamed if it had its base name."""
    is_protected = item.identity.group_kind == CONFIG_MAP and settings.attacher.is_enabled
    return is_protected and _decide(item, links, None, settings, finders).strategy == RENAME


def _is_keyed(item: Item) -> bool:
    is_secret = item.identity.group_kind == SECRET
    return is_secret and item.annotations.get(HASH_ANNOTATION) == KEYED_HASH


def _decide(
    item: Item,
    links: Sequence[Link],
    mounted_in: Item | None,
    settings: Settings,
    finders: LabelFinders,
) -> StrategyDecision:
    users = [link.source for link in links if link.triggers_rename]
    users += [mounted_in] if mounted_in else []
    unrewritable = [link for link in links if link.keeps_base_name]
    rule = _rule_for(item, bool(users), settings)
    annotation = item.annotations.get(STRATEGY_ANNOTATION, "")
    strategy = annotation or (rule.strategy if rule else RENAME)
    is_requested = bool(annotation or rule)
    if is_requested and not users:
        users = [link.source for link in links if link.permits_rename]
    writers = [link for link in links if link.reference.rule.is_written]
    writer = min(writers, key=lambda link: link.reference.rule.is_guess, default=None)
    exemption = "" if is_requested else _exemption(item, writer, finders, is_used=bool(users))
    keep_reason, helm_hook = "", None
    if exemption:
        strategy, reason = IGNORE, exemption
    elif strategy == RENAME and users:
        reason, keep_reason = _used_by(users), _keep_reason(item, rule, settings)
        if unrewritable:
            if not keep_reason and all(is_helm_hook(link.source) for link in unrewritable):
                helm_hook = unrewritable[0].source
            keep_reason = _kept_reference(unrewritable[0])
    elif is_requested and strategy != RENAME:
        reason = (
            f"the annotation {STRATEGY_ANNOTATION} sets the strategy"
            if annotation
            else f"{_rule_name(rule, settings)} sets the strategy"
        )
    else:
        strategy = IGNORE
        reason = _NOT_REFERENCED if is_requested else _UNUSED[item.identity.kind]
        if unrewritable:
            is_only = len({link.source.key for link in links}) == 1
            reason = ("only " if is_only else "") + _kept_reference(unrewritable[0])
    return StrategyDecision(
        item=item,
        strategy=strategy,
        reason=reason,
        keep_reason=keep_reason,
        is_immutable=_is_immutable(item, rule, settings),
        is_requested=is_requested,
        is_keep_decided=KEEP_ORIGINAL_ANNOTATION in item.annotations
        or (rule is not None and rule.keep_original is not None),
        helm_hook=helm_hook,
    )


def _rule_name(rule: StrategyRule | None, settings: Settings) -> str:
    return f"rules[{settings.rules.index(rule)}] of the configuration" if rule else ""


def is_helm_hook(item: Item) -> bool:
    """Whether Helm runs the object as a hook. Other hooks are of Argo CD."""
    return HELM_HOOK_ANNOTATION in item.annotations


def _exemption(item: Item, writer: Link | None, finders: LabelFinders, *, is_used: bool) -> str:
    """A clause that explains why postrender does not rename an object by default, else "".

    writer: a reference in an object that makes a program write to the ConfigMap or Secret.
    finders: the programs that find ConfigMaps by labels.
    """
    if writer:
        verb = "may make" if writer.reference.rule.is_guess else "makes"
        return f"{writer.source.identity} {verb} a program write to the {item.identity.kind}"
    if not is_used:
        return ""
    if _SOPS in item.content:
        # The hash changes with each encryption of the same data, and the checksum of SOPS covers
        # the name of the object.
        return f"SOPS encrypts the {item.identity.kind}, so equal data can have different hashes"
    program, cause = filler_of(item.identity.group_kind, item.annotations, item.labels)
    if program:
        return f"{program} writes to the {item.identity.kind}, {cause}"
    reader = well_known_reader(item.identity, item.labels)
    if reader:
        return (
            f"{reader} reads the {item.identity.kind} by the well-known name {item.identity.name}"
        )
    finder = finders.find(item.identity.group_kind, item.labels)
    if finder:
        program, selector = finder
        labels = conjoined(list(selector))
        with_labels = f" with the label {labels}" if labels else ""
        return f"{program} may find each ConfigMap{with_labels}, also old revisions"
    if _VERSIONED in item.annotations and _APPLIED_BY_KAPP not in item.labels:
        return f"kapp versions the {item.identity.kind}, because of the annotation {_VERSIONED}"
    path, program = find_placeholder(item.identity.group_kind, item.content, item.annotations)
    if program:
        return f"{_MAY_REPLACE} in {path}, as {program} does"
    # The hash of an object without data never changes, and often a program adds the data later.
    kind = item.identity.kind
    return "" if _has_data(item) else f"the {kind} is empty, and a program may add data later"


def _used_by(items: Sequence[Item]) -> str:
    names = list(dict.fromkeys(str(item.identity) for item in items))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"referenced by {', '.join(names[:3])}{more}"


def _kept_reference(link: Link) -> str:
    source, kind = link.source, link.target.identity.kind
    if source.opt_out:
        return f"{source.identity}, which opts out with {source.opt_out}, references the {kind}"
    if source.is_rewritable:
        return f"{source.identity} references the {kind}, and {link.reference.rule.keep_reason}"
    hook = "the hook " if source.is_hook else ""
    return f"{hook}{source.identity}, which postrender never rewrites, references the {kind}"


def _check_annotations(inventory: Inventory, item: Item) -> None:
    for annotation, allowed in _ALLOWED_VALUES.items():
        value = item.annotations.get(annotation)
        if value is not None and value not in allowed:
            raise UserError(
                f"the annotation {annotation} is {shown(value)}, expected one of "
                f"{', '.join(map(shown, allowed))}",
                "Write one of these values",
                inventory.location_of(item),
            )


def _rule_for(item: Item, is_referenced: bool, settings: Settings) -> StrategyRule | None:
    for rule in settings.rules:
        if rule.strategy and rule.matches(
            item.identity, item.labels, item.annotations, is_referenced
        ):
            return rule
    return None


def _is_immutable(item: Item, rule: StrategyRule | None, settings: Settings) -> bool:
    immutable = item.content.get("immutable")
    if isinstance(immutable, bool):
        return immutable
    if rule and rule.is_immutable is not None:
        return rule.is_immutable
    return settings.is_immutable


def _keep_reason(item: Item, rule: StrategyRule | None, settings: Settings) -> str:
    """Why the original stays although postrender rewrites all references, as a clause."""
    if KEEP_ORIGINAL_ANNOTATION in item.annotations:
        is_kept = item.annotations[KEEP_ORIGINAL_ANNOTATION] == "true"
        return f'the annotation {KEEP_ORIGINAL_ANNOTATION} is "true"' if is_kept else ""
    if rule and rule.keep_original is not None:
        return f"{_rule_name(rule, settings)} sets keepOriginal" if rule.keep_original else ""
    if settings.keep_original is None and item.identity.kind == "Secret":
        # The output of Helm does not show which templates call `lookup`.
        return "a chart template can read the Secret with `lookup`, and keepOriginal is not set"
    return "keepOriginal is true" if settings.keep_original else ""


def _has_data(item: Item) -> bool:
    return any(item.content.get(key) for key in DATA_FIELDS)


def _stale_revision_findings(
    inventory: Inventory,
    decision: StrategyDecision,
    links: Sequence[Link],
    hash_key: HashKey | None,
) -> Iterator[Finding]:
    item = decision.item
    is_keyed = _is_keyed(item)
    if is_keyed and hash_key is None:
        return  # without the key, postrender cannot check the hash
    base_name = item.base_name if item.is_revision else without_hash(item.identity.name)
    users = [link.source for link in links if link.triggers_rename or link.keeps_base_name]
    if not users or _matches_hash(item, base_name, hash_key if is_keyed else None):
        return
    fix = "Edit the chart instead of the output, and render the chart again"
    if is_keyed:
        fix += ". Also check that the hash key has not changed"
    yield Finding(
        code="stale-revision",
        problem=f"the content of {item.identity} does not match the hash in the name, and "
        f"{users[0].identity} references the {item.identity.kind}",
        fix=fix,
        location=inventory.location_of(item),
        strict=True,
    )


def _empty_finding(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        code="empty",
        problem=f"{item.identity} does not contain data, so pods would read an empty revision",
        fix=f"If a program writes to {item.identity} at run time, add the annotation "
        f"{STRATEGY_ANNOTATION}: ignore. Otherwise, add the data",
        location=inventory.location_of(item),
    )


def _placeholder_finding(inventory: Inventory, decision: StrategyDecision) -> Finding:
    """A note that an object with a placeholder stays as it is.

    The hash would cover the placeholder: a changed value would not change the name of the revision,
    and the API server would refuse the value, because a revision is immutable.
    """
    identity = decision.item.identity
    return Finding(
        code="placeholder",
        problem=f"postrender does not rename {identity}, because {decision.reason}, and the hash "
        "would cover the placeholder instead of the value",
        fix="If such a program changes the manifests, run the program before postrender. If pods "
        f"read the placeholder itself, add the annotation {STRATEGY_ANNOTATION}: rename to "
        f"{identity}",
        location=inventory.location_of(decision.item),
    )


def _unreferenced_finding(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        code="unreferenced",
        problem=f"the strategy of {item.identity} is rename, but workloads do not reference the "
        f"{item.identity.kind}, so {item.identity} keeps its name",
        fix=f"If a field references {item.identity}, add the field to `references` in "
        "postrender.yaml. Otherwise, set the strategy to ignore",
        location=inventory.location_of(item),
    )
