"""What the API server rejects in workloads, and in what scales and protects their pods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.validation.checks import (
    Check,
    Rows,
    between,
    deadline,
    exclusive,
    needs,
    repeated,
    requires,
)
from postrender.kubernetes.validation.containers import CONTAINERS
from postrender.text import shown
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at


def _share(most: int) -> Check:
    """A number of pods, or a percentage that is not above `most`."""

    def check(value: Json) -> Iterator[str]:
        number = str(value).removesuffix("%")
        is_share = str(value).endswith("%") and number.isdecimal() and int(number[:9]) <= most
        if value is not None and not is_share and not (isinstance(value, int) and value >= 0):
            yield f"the value {shown(value)} is not a number or a percentage of pods"

    return check


def _deployment(value: Json) -> Iterator[str]:
    rolling = mapping_at(value, ("rollingUpdate",))
    if [rolling.get(field) for field in ("maxSurge", "maxUnavailable")] in ([0, 0], ["0%", "0%"]):
        yield "maxSurge and maxUnavailable are both 0"


def _daemon_set(value: Json) -> Iterator[str]:
    surge, unavailable = (value_at(value, (field,)) for field in ("maxSurge", "maxUnavailable"))
    is_set = [
        one not in (0, "0%") for one in (surge or 0, 1 if unavailable is None else unavailable)
    ]
    if is_set[0] == is_set[1]:
        both = "both more than 0" if is_set[0] else "both 0"
        yield f"maxSurge and maxUnavailable are {both} (without a value, maxUnavailable is 1)"


# The numbers of each field in robfig/cron; a day of the week is at most 6.
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_NAMES = {
    12: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    6: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
_RANGE = r"(?:[*?]|([a-z]+|\d{1,9})(?:-([a-z]+|\d{1,9}))?)(?:/0*[1-9]\d*)?\Z"
_DESCRIPTORS = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]


def _schedule(value: Json) -> Iterator[str]:
    if not isinstance(value, str):
        return
    fields = value.split()
    if value.startswith("@"):
        if value not in _DESCRIPTORS and not value.startswith("@every "):
            yield f"the value {shown(value)} is not one of {', '.join(_DESCRIPTORS)}"
    elif len(fields) != len(_FIELDS):
        yield f"the schedule {shown(value)} does not have five fields"
    else:
        for field, (low, high) in zip(fields, _FIELDS, strict=True):
            if not all(_is_range(part, low, high) for part in field.split(",") if part):
                yield f"the field {field} of the schedule has a number outside of {low} to {high}"


def _is_range(text: str, low: int, high: int) -> bool:
    match = re.match(_RANGE, text.lower())
    names = {name: low + number for number, name in enumerate(_NAMES.get(high, ()))}
    ends = [end for end in match.groups() if end] if match else [""]
    numbers = [int(end) if end.isdigit() else names.get(end, -1) for end in ends]
    return all(low <= number <= high for number in numbers) and numbers == sorted(numbers)


def _time_zone(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        from zoneinfo import ZoneInfo  # rarely needed

        try:
            ZoneInfo("Etc/UTC")  # this machine can lack the data
        except (KeyError, ValueError, OSError):
            return
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            yield f"the time zone {shown(value)} does not exist"


def _autoscaler(value: Json) -> Iterator[str]:
    low, high = (value_at(value, (f"{end}Replicas",)) for end in ("min", "max"))
    low = 1 if low is None else low
    if isinstance(low, int) and isinstance(high, int) and low > high:
        yield f"minReplicas ({low}) is above maxReplicas ({high})"
    kinds = [metric.get("type") for metric in mappings_in(value_at(value, ("metrics",)))]
    if low == 0 and not {"Object", "External"}.intersection(map(str, kinds)):
        yield "minReplicas is 0, without a metric of the type Object or External"


# The types of metrics, each with the values of which a target has exactly one.
_METRICS = {
    "Resource": ("resource", "averageUtilization", "averageValue"),
    "ContainerResource": ("containerResource", "averageUtilization", "averageValue"),
    "Pods": ("pods", "averageValue"),
    "Object": ("object", "value", "averageValue"),
    "External": ("external", "value", "averageValue"),
}


def _metric(value: Json) -> Iterator[str]:
    kind = str(value_at(value, ("type",)))
    source, *values = _METRICS.get(kind, ("",))
    target = mapping_at(value, (source, "target"))
    if source and not mapping_at(value, (source,)):
        yield f"a metric of the type {kind} needs the field {source}"
    elif source and sum(target.get(field) is not None for field in values) != 1:
        yield f"the target of the metric needs {' or '.join(values)}"


def _exit_codes(value: Json) -> Iterator[str]:
    values = value_at(value, ("values",))
    values = values if isinstance(values, list) else []
    if value_at(value, ("operator",)) == "In" and 0 in values:
        yield "the exit code 0 cannot be a failure"
    yield from repeated("value", values, "exit code")


def _not_empty(value: Json) -> Iterator[str]:
    if value == []:
        yield "the list is empty"


def _job(value: Json) -> Iterator[str]:
    """The limits of an indexed Job, and the containers that its failure policy names."""
    job = mapping_at(value, ())
    numbers = [
        ("parallelism", job.get("parallelism"), _MOST_INDEXES),
        *(
            ("succeededCount", rule.get("succeededCount"), job.get("completions"))
            for rule in mappings_in(value_at(job, ("successPolicy", "rules")))
        ),
    ]
    for what, number, most in numbers if job.get("completionMode") == "Indexed" else ():
        if isinstance(number, int) and isinstance(most, int) and number > most:
            yield f"{what} ({number:,}) is above {most:,}"
    pod = mapping_at(job, ("template", "spec"))
    names = [one.get("name") for field in CONTAINERS for one in mappings_in(pod.get(field))]
    for rule in mappings_in(value_at(job, ("podFailurePolicy", "rules"))):
        name = value_at(rule, ("onExitCodes", "containerName"))
        if name is not None and name not in names:
            yield f"the container {name} of podFailurePolicy does not exist"


_MOST_INDEXES = 100_000
_JOBS: Rows = (
    ("", requires("backoffLimitPerIndex", "completionMode: Indexed")),
    ("", requires("successPolicy", "completionMode: Indexed")),
    ("", requires("completionMode: Indexed", "completions")),
    ("", requires("maxFailedIndexes", "backoffLimitPerIndex")),
    ("", _job),
    (".successPolicy", needs("rules")),
    ("", requires("podFailurePolicy", "template.spec.restartPolicy: Never")),
    ("", exclusive("podFailurePolicy", "podReplacementPolicy: TerminatingOrFailed")),
    (".podFailurePolicy.rules[]", exclusive("onExitCodes", "onPodConditions", is_needed=True)),
    (".podFailurePolicy.rules[].onExitCodes", needs("operator", "values")),
    (".podFailurePolicy.rules[].onExitCodes", _exit_codes),
)


WORKLOAD_ROWS: dict[GroupKind, Rows] = {
    ("apps", "Deployment"): (
        ("spec.strategy", _deployment),
        ("spec.strategy", exclusive("type: Recreate", "rollingUpdate")),
        ("spec.strategy.rollingUpdate.maxUnavailable", _share(100)),
        ("spec.strategy.rollingUpdate.maxSurge", _share(10**9)),
        ("spec", deadline),
    ),
    ("apps", "StatefulSet"): (
        ("spec.updateStrategy", exclusive("type: OnDelete", "rollingUpdate")),
    ),
    ("apps", "DaemonSet"): (("spec.updateStrategy.rollingUpdate", _daemon_set),),
    ("batch", "Job"): tuple((f"spec{path}", check) for path, check in _JOBS),
    ("batch", "CronJob"): (
        *((f"spec.jobTemplate.spec{path}", check) for path, check in _JOBS),
        ("spec.schedule", _schedule),
        ("spec.timeZone", _time_zone),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (("value", between(-(2**31), 1_000_000_000)),),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        ("spec", _autoscaler),
        ("spec", needs("maxReplicas")),
        ("spec.maxReplicas", between(1)),
        ("spec.scaleTargetRef", needs("kind", "name")),
        ("spec.metrics[]", _metric),
        *((f"spec.behavior.scale{way}.policies", _not_empty) for way in ("Up", "Down")),
    ),
    ("policy", "PodDisruptionBudget"): (
        ("spec", exclusive("minAvailable", "maxUnavailable")),
        ("spec.minAvailable", _share(100)),
        ("spec.maxUnavailable", _share(100)),
    ),
}
