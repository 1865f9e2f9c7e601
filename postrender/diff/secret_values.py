"""The values in an object or a text that its names or its form show to be secret.

password: alpha                      # by its name
url: postgres://web:alpha@host/db    # by its form
args: [--token, alpha]               # by the option before it
config: |                            # a text, which is read as YAML
  password: alpha
"""

from __future__ import annotations

import re
from functools import lru_cache

from postrender.diff.marks import MARKED_KEYS, Masked, Redacted, mark_content, redacted
from postrender.errors import Location, UserError
from postrender.kubernetes.hashing import canonical_json
from postrender.yaml.document import parse_document
from postrender.yaml.paths import Json, value_at
from postrender.yaml.stream import has_content

# The end of the name of a password, in lower case and with `_` between words.
_SECRET_NAME = re.compile(
    r"(?:pass_?wo?r?d|pass_?phrase|passcode|htpasswd|pwd|token|credential|connection_?string|bearer"
    r"|(?:api|private|secret|access|account|auth|encryption|license|master|session|shared|signing"
    r"|ssh|storage|tls|ca|client|server)(?:_?access)?_?key(?:_?base)?"
    r"|kube_?config|docker_?config_?json|basic_?auth"
    r"|(?:api|app|application|client|consumer|cookie|encryption|hmac|jwt|oauth|session|shared"
    r"|signing|webhook)_?secret|secret_?(?:data|env)|requirepass|masterauth|auth(?=s\Z)"
    r"|(?:\A|_)(?:authorization|creds?|dsn|pass|pat))(?P<plural>s?)\Z"
)
# The name of a place or setting of a secret: `password: {secretName: web, key: a, length: 16}`.
_PLAIN_NAME = re.compile(
    r"(?:name|namespace|key|ref|from|secret|path|file|enabled|create|length|seconds|ttl)\Z"
    r"|(?:\A|_)(?:algorithm|annotations|audiences?|days|description|duration|email|encoding|endpoint"
    r"|engine|expir[a-z]*|format|group|header|hours|id|interval|issuer|kind|labels|method|minutes"
    r"|mode|mount|optional|owner|period|policy|port|prefix|property|provider|region|required|role"
    r"|rotation|scopes?|size|store|strategy|suffix|timeout|title|type|user|version)\Z"
    r"|\Aexisting_"
)
_KEY_FILES = ("tls.key", "ca.key", "client.key", "server.key")  # keys, not names in parts
# The start of the name of a setting: `allowEmptyPassword: "yes"`, `existingSecretKey: a`.
_SETTING = re.compile(r"(?:existing|allow|automount|disable|enable|has|is|require|skip|use)_")
_MARKER = re.compile(r"^---(?=\s).*\n?", re.MULTILINE)
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
# A name with what it gets: `--token=`, `password:`. A reference such as `$(TOKEN)` is not secret.
_ASSIGNMENT = re.compile(
    r"(?<![\w.-])([\w.-]+)[\"']?\s*[=:>]+\s*[\"']?"
    r"(?!\$[({]|\{\{[^\"'{}]{0,200}\}\})[^\s\"',}\]]"
)
_OPTION = re.compile(r"(?<![\w.-])--?([A-Za-z][\w.-]*)[ \t]+(?![-$])\S")
# The password or the long token in a URL or for curl, the URL of a webhook, the token of a service,
# a private key, and the manifest of a Secret.
_SECRET_FORM = re.compile(
    r"://[^\s/@:]*:[^\s/@$][^\s/@]*@|://[^\s/@:]{20,}@|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
    r"|LS0tLS1CRUdJTi[A-Za-z0-9+/]{2,16}(?:UFJJVkFUR|BSSVZBVE|QUklWQVRF)"
    r"|\bhooks\.slack\.com/|\bdiscord(?:app)?\.com/api/webhooks/|\bwebhook\.office\.com/"
    r"|\b(?:gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-)\w|\bAKIA[A-Z0-9]{16}\b"
    r"|:[^\s/@:]+@(?:tcp|unix)\(|(?<!\S)(?:-u|--user)[ =][^\s:]+:[^\s$]"
    r"|stringData|\bkind[\"']?: ?[\"']?Secret\b"
)
# The keys next to `name` with what has the name: Argo CD, and env of containers.
_VALUES = ("value", "string", "map", "array")
# Deeper values are hidden. A text counts as many levels: a text in a text in a text … is an attack.
_MAX_LEVELS, _LEVELS_OF_TEXT = 200, 50


def with_marked_names(
    data: Json, name: str = "", level: int = 0, *, is_secret: bool = False
) -> Json:
    """A value in which the values with a secret name or form, or below one, are Redacted text.

    name: the key of the value, or the `name` next to a `value`, as in parameters of Argo CD.
    level: the number of levels around the value.
    is_secret: whether the value is below a secret name.
    """
    is_plain = isinstance(data, (int, float)) and not is_secret
    for part in [name] if name in _KEY_FILES else name.split("."):
        kind = _kind_of_name(part.partition("[")[0])
        if kind:
            # A number at `maxTokens` is a limit.
            is_secret = kind == "one" or (kind == "many" and not is_plain)
    if isinstance(data, (bool, Redacted)) or data in (None, ""):
        return data
    if isinstance(data, (dict, list)) and level < _MAX_LEVELS:
        if isinstance(data, dict):
            return _in_mapping(data, name, level + 1, is_secret=is_secret)
        names = [name, *(_option_name(item) or name for item in data)]
        return [
            with_marked_names(item, own, level + 1, is_secret=is_secret)
            for item, own in zip(data, names, strict=False)
        ]
    if is_secret or isinstance(data, (dict, list)):
        return redacted(data)
    return _marked_text(data, level) if isinstance(data, str) else data


def _in_mapping(data: dict[str, Json], name: str, level: int, *, is_secret: bool) -> Json:
    if not MARKED_KEYS.isdisjoint(data):
        data = mark_content(data)
    own = ".".join(text for key in ("name", "key") if isinstance(text := data.get(key), str))
    path = data.get("path")
    is_in_secret = False
    if "op" in data and isinstance(path, str):  # RFC 6902
        own = path.replace("/", ".")
        # An index, as in `/env/0/value`, does not tell the name.
        is_in_secret = path.startswith("/stringData") or path.endswith("/value")
    is_patch_of_secret = value_at(data, ("target", "kind")) == "Secret"
    hidden = "value" if is_in_secret else "patch" if is_patch_of_secret else ""
    if "sourceValue" in data:  # of a replacement of kustomize
        words = re.findall(r"\w+", canonical_json(data.get("targets")))
        hidden = "sourceValue" if "Secret" in words or any(map(_is_secret_name, words)) else hidden
    if "secret" in name.lower():
        hidden = "data"  # `extraSecrets: [{name: web, data: {a: alpha}}]`
    return {
        key: with_marked_names(
            inner,
            own if key in _VALUES and own else key,
            level,
            is_secret=is_secret or key == hidden,
        )
        for key, inner in data.items()
    }


@lru_cache(maxsize=4096)
def _kind_of_name(name: str) -> str:
    """`one` or `many` for the name of secrets, `plain` for a name of a setting, or ""."""
    words = _NEW_WORD.sub("_", name).lower()
    found = _SECRET_NAME.search(words)
    if found and not _SETTING.match(words):
        return "many" if found["plural"] else "one"
    return "plain" if _PLAIN_NAME.search(words) else ""


def _option_name(value: Json) -> str:
    """The name of an option of a command, of which the next argument is the value."""
    if isinstance(value, str) and value.startswith("-") and len(value) < 100:
        return value.lstrip("-")
    return ""


def _marked_text(text: str, level: int) -> str:
    if not (text.startswith(("{", "[", "- ")) or ": " in text or "\n" in text):
        return Redacted(text) if _is_suspect(text) else text
    if level + _LEVELS_OF_TEXT > _MAX_LEVELS:
        return Redacted(text)
    data = _read(text)
    if data is None:
        return Redacted(text) if _is_suspect(text) else text
    marked = with_marked_names(data, "", level + _LEVELS_OF_TEXT)
    comments = "\n".join(line.partition("#")[2] for line in text.split("\n"))
    return Masked(text, marked) if _has_marks(marked) or _is_suspect(comments) else text


def _read(text: str) -> Json:
    """The mapping or list in a YAML text without aliases and repeated keys, None for others.

    A text with several documents is a list.
    """
    if _MARKER.search(text):
        parts = [_read(part) for part in _MARKER.split(text) if has_content(part)]
        return None if None in parts else parts
    try:
        document = parse_document(text, Location(""))
        data = document.data
    except UserError:
        return None
    is_complete = document.plain or not (document.nodes.has_aliases or document.duplicate_keys())
    return data if isinstance(data, (dict, list)) and is_complete else None


def _has_marks(data: Json) -> bool:
    if isinstance(data, dict):
        return any(map(_has_marks, data.values()))
    return any(map(_has_marks, data)) if isinstance(data, list) else isinstance(data, Redacted)


def _is_suspect(text: str) -> bool:
    """Whether a text that cannot be read as YAML can contain a secret."""
    if _SECRET_FORM.search(text):
        return True
    names = (found[1] for pattern in (_ASSIGNMENT, _OPTION) for found in pattern.finditer(text))
    return any(_is_secret_name(name.rpartition(".")[2][-100:]) for name in names)


def _is_secret_name(name: str) -> bool:
    return _kind_of_name(name) in ("one", "many")
