"""The configuration: found, validated against its published schema, and made into Settings.

Each option has a key here and a POSTRENDER_* variable; the command line goes before the
environment, that before the file, that before the defaults, which stand in config.schema.json.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from postrender.config import schemas
from postrender.config.schema_check import surely_fits
from postrender.config.settings import (
    AttacherSettings,
    HistorySettings,
    IgnoredLeftover,
    Settings,
    StrategyRule,
)
from postrender.errors import Location, UserError
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET
from postrender.references.rule import Rule
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, format_path, parse_pattern, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The same as a Kubernetes object, for tools that hand over a configuration only as one.
API_VERSION, KIND = "postrender/v1alpha1", "Postrender"
_OBJECT_KEYS = ("apiVersion", "kind", "metadata", "spec")

Values = dict[str, "Any"]


def load_config(path: str) -> Values:
    """Return the values of a configuration file, validated.

    Raises UserError for a file that cannot be read, is not YAML or does not fit the schema.
    """
    location = Location(path, 1)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(
            f"cannot read the configuration: {reason}",
            "name another file with --config",
            Location(path),
        ) from None
    try:
        document = parse_document(text, location)
        values = document.data
    except UserError as error:  # whose remedy is for manifests, which a template wrote
        raise UserError(error.problem, "mend the file", error.location) from None
    if is_object(values):
        return object_values(values, document, ())
    if values is None:
        return {}
    validate(values, document)
    return values if isinstance(values, dict) else {}


def is_object(data: Json) -> bool:
    """Tell whether data is a configuration as a Kubernetes object."""
    what = value_at(data, ("apiVersion",)), value_at(data, ("kind",))
    return what == (API_VERSION, KIND)


def object_values(data: Json, document: ParsedDocument, path: Path) -> Values:
    """Return the values that the object at a path of a document has in its spec, validated."""
    for key in data if isinstance(data, dict) else ():
        if key not in _OBJECT_KEYS:
            _refuse_key(key, _OBJECT_KEYS, document, (*path, key))
    spec = value_at(data, ("spec",))
    if spec is None:
        return {}
    validate(spec, document, lambda inside: (*path, "spec", *inside))
    return spec if isinstance(spec, dict) else {}


def _refuse_key(key: str, known: Sequence[str], document: ParsedDocument, path: Path) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(key, known, 1, 0.3)
    fix = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
    raise UserError(f"unknown key {key!r}", fix, document.location_of_key(path))


def schema_text() -> str:
    """Return the JSON Schema of the configuration as text."""
    return schemas.schema_text("config/config.schema.json")


def validate(
    values: Json, document: ParsedDocument, at: Callable[[Path], Path] = lambda path: path
) -> None:
    """Raise UserError for values that do not fit the schema.

    at: where in the document that holds them a path of the values stands.
    """
    schema = json.loads(schema_text())
    if surely_fits(values, schema):
        return
    # Imported only to word an error: the import takes longer than most renders.
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(validator.iter_errors(values))
    if error is None:
        return
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema["properties"])
        unknown = next(key for key in error.instance if key not in known)
        _refuse_key(unknown, known, document, at((*path, unknown)))
    raise UserError(error.message, "see `postrender config schema`", document.location_of(at(path)))


def defaults() -> Values:
    """Return the default of every key, as the schema gives them."""
    return _defaults(json.loads(schema_text()))


def _defaults(schema: Mapping[str, Any]) -> Values:
    return {
        key: part["default"]
        if part.get("default") != {} or "spec" in part.get("properties", {})
        else _defaults(part)
        for key, part in schema["properties"].items()
    }


def merge_values(base: Values, over: Values) -> Values:
    """Return values with others laid over them, mapping by mapping."""
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[key] = merge_values(before, value) if both else value  # type: ignore[arg-type]
    return merged


def settings_from(values: Values, source: str = "") -> Settings:
    """Return the settings that (validated, possibly partial) values stand for.

    source: where they come from, for messages. Raises UserError for a path that is none.
    """
    own = Settings()
    return Settings(
        namespace=values.get("namespace", own.namespace),
        with_secrets=values.get("secrets", own.with_secrets),
        is_strict=values.get("strict", own.is_strict),
        keep_original=values.get("keepOriginal", own.keep_original),
        allow_empty=values.get("allowEmpty", own.allow_empty),
        is_immutable=values.get("immutable", own.is_immutable),
        log_file=values.get("logFile", own.log_file),
        rules=tuple(map(_strategy_rule, values.get("rules", ()))),
        references=tuple(_references(values.get("references", ()), source)),
        finds_pod_specs=values.get("embeddedPodSpecs", own.finds_pod_specs),
        ignored_leftovers=tuple(_ignored(values.get("leftovers", {}).get("ignore", ()), source)),
        attacher=_attacher(values.get("attacher", {})),
        history=_history(values.get("history", {})),
        naming=values.get("naming", own.naming),
    )


def _history(values: Values) -> HistorySettings:
    own = HistorySettings()
    return HistorySettings(
        previous=values.get("previous", own.previous),
        keep=values.get("keep", own.keep),
        context=values.get("kubeContext", own.context),
        kubeconfig=values.get("kubeconfig", own.kubeconfig),
    )


def _strategy_rule(values: Values) -> StrategyRule:
    match = values.get("match", {})
    return StrategyRule(
        values["strategy"],
        match.get("kind", "*"),
        match.get("name", "*"),
        match.get("namespace", "*"),
        match.get("labels", {}),
        match.get("referenced"),
        values.get("immutable"),
        values.get("keepOriginal"),
    )


def _references(entries: Sequence[Values], source: str) -> list[Rule]:
    return [
        Rule(
            entry.get("group"),
            entry["kind"],
            _pattern(entry["path"], source, ("references", number, "path")),
            SECRET if entry.get("target") == "Secret" else CONFIG_MAP,
            name=entry.get("name", "*"),
            is_word=entry.get("match") == "word",
            origin=f"references[{number}] ({entry['path']})",
        )
        for number, entry in enumerate(entries)
    ]


def _ignored(entries: Sequence[Values], source: str) -> list[IgnoredLeftover]:
    return [
        IgnoredLeftover(
            entry.get("kind", "*"),
            entry.get("name", "*"),
            _pattern(entry["path"], source, ("leftovers", "ignore", number, "path"))
            if "path" in entry
            else (),
            entry.get("value", "*"),
        )
        for number, entry in enumerate(entries)
    ]


def _pattern(text: str, source: str, path: Path) -> tuple[str, ...]:
    try:
        return parse_pattern(text)
    except UserError as error:
        raise error.at(Location(source, path=format_path(path))) from None


def _attacher(values: Values) -> AttacherSettings:
    own = AttacherSettings()
    account = values.get("serviceAccount", {})
    return AttacherSettings(
        is_enabled=values.get("enabled", own.is_enabled),
        image=values.get("image", own.image),
        image_pull_policy=values.get("imagePullPolicy", own.image_pull_policy),
        mode=values.get("mode", own.mode),
        timeout=values.get("timeout", own.timeout),
        active_deadline=values.get("activeDeadlineSeconds", own.active_deadline),
        backoff_limit=values.get("backoffLimit", own.backoff_limit),
        ttl=values.get("ttlSecondsAfterFinished", own.ttl),
        is_required=values.get("required", own.is_required),
        creates_service_account=account.get("create", own.creates_service_account),
        service_account=account.get("name", own.service_account),
        pod_template=values.get("podTemplate", own.pod_template),
    )
