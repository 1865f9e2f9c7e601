"""No output shows the content of a Secret, or a hash from which the content could be guessed.

The tests plant values on both sides, in every place where manifests have them. Then they search
every format for the values, for their encoded forms, and for every unkeyed hash that covers them.
Such hashes are in annotations of charts, in revision names of Secrets, and in the render IDs of
workloads that use Secrets.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from postrender.diff.formats import REPORTERS
from postrender.diff.marks import Redacted
from postrender.diff.redact import redact
from postrender.diff.secret_fields import mark_fields
from postrender.diff.secret_values import with_marked_names
from postrender.explain import REPORTERS as EXPLAIN_REPORTERS
from postrender.kubernetes.hashing import (
    HASH_SUFFIX,
    RENDER_ID_LENGTH,
    hashed_content,
    revision_name,
)
from postrender.yaml.paths import Json
from tests.diff.change_cases import Result, one_comparison, run
from tests.diff.reporters import check_shows

KEY = "planted-key"


class Planted(NamedTuple):
    """The secret values of one side, each in its own place."""

    data: str
    string_data: str
    binary: bytes
    in_list: str
    in_custom: str
    applied: str
    certificate: str

    @property
    def values(self) -> list[bytes]:
        """All values as bytes."""
        return [value if isinstance(value, bytes) else value.encode() for value in self]


def planted(side: str) -> Planted:
    return Planted(
        f"plain-{side}-horse-battery",
        f'string-{side}-staple\nwith <two> & "lines" of {side}',
        bytes([0x89, 0xFF, 0xFE]) + f"binary-{side}".encode() + bytes([0, 1, 0xC3]),
        f"list-{side}-token",
        f"custom-{side}-token",
        f"applied-{side}-token",
        f"-----BEGIN KEY-----\ncert-{side}\n-----END KEY-----\n",
    )


OLD, NEW = planted("alpha"), planted("omega")


def encoded(value: str | bytes) -> str:
    return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()


def sha256(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def secret(name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **more}


def stream(side: Planted) -> str:
    """Return manifests with the planted values, as JSON, which is also YAML."""
    applied = secret("web-applied", data={KEY: encoded(side.applied)})
    last_applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    annotations = {
        "checksum/secret": sha256(side.data),
        "checksum/short": sha256(side.data)[:8],
        "example.com/secret-hash": hashlib.md5(side.data.encode()).hexdigest(),
        "rollme": f"sha256:{sha256(side.string_data)}",
        "vault/digest": encoded(hashlib.sha256(side.in_list.encode()).digest()),
    }
    hashed = hashed_content(("", "Secret"), {"stringData": {KEY: side.string_data}}, True)
    kustomized, outside = (revision_name(name, hashed) for name in ("web-made", "web-outside"))
    objects = [
        secret("web-database", type="Opaque", data={KEY: encoded(side.data)}),
        secret("web-token", stringData={KEY: side.string_data}),
        secret("web-binary", data={KEY: encoded(side.binary)}),
        {**applied, "metadata": {"name": "web-applied", "annotations": last_applied}},
        secret("web-tls", type="kubernetes.io/tls", stringData={"tls.key": side.certificate}),
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [secret("web-listed", stringData={KEY: side.in_list})],
        },
        {
            "apiVersion": "example.com/v1",
            "kind": "Vault",
            "metadata": {"name": "web", "labels": {"secret-hash": sha256(side.data)[:10]}},
            "spec": {
                "template": secret("web-templated", stringData={KEY: side.in_custom}),
                "more": [{"deeper": secret("web-deeper", data={KEY: encoded(side.in_custom)})}],
                "list": {
                    "apiVersion": "v1",
                    "kind": "SecretList",
                    "items": [{"metadata": {"name": "web-inner"}, "data": {KEY: side.in_custom}}],
                },
                "secrets": [outside],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "SecretList",
            "items": [{"metadata": {"name": "web-item"}, "stringData": {KEY: side.in_list}}],
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"generateName": "web-unnamed-"},
            "stringData": {KEY: side.in_list},
        },
        # As kustomize creates them: the name ends in the hash of the content.
        secret(kustomized, stringData={KEY: side.string_data}),
        pulling("puller", outside),
        pulling("reader", kustomized),
        workload("argoproj.io/v1alpha1", "Rollout", "web", annotations),
        workload("apps/v1", "Deployment", "worker", {}),
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web"},
            "spec": {"tls": [{"secretName": "web-tls"}]},
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "web"},
            "imagePullSecrets": [{"name": "web-listed"}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "web"},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": ["web-database", "web-token"],
                    "verbs": ["get"],
                }
            ],
        },
    ]
    return "".join(f"---\n{json.dumps(item, indent=2)}\n" for item in objects)


def workload(
    api_version: str, kind: str, name: str, annotations: dict[str, str]
) -> dict[str, object]:
    names = ("web-database", "web-token", "web-binary", "web-applied", "web-tls", "web-listed")
    volumes = [{"name": name, "secret": {"secretName": name}} for name in names]
    container = {"name": "app", "image": "shop:1", "envFrom": [{"secretRef": {"name": names[0]}}]}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"containers": [container], "volumes": volumes},
            }
        },
    }


def pulling(name: str, *secrets: str) -> dict[str, object]:
    spec = {
        "containers": [{"name": "app", "image": "shop:1", "args": [f"--from={secrets[0]}"]}],
        "imagePullSecrets": [{"name": name} for name in secrets],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"template": {"spec": spec}},
    }


def guessable(text: str) -> set[str]:
    """Return the hashes of planted values in a rendered stream."""
    suffixes = re.findall(rf"\bweb-[a-z]+({HASH_SUFFIX})\b", text)
    revisions = [suffix.removeprefix("-") for suffix in suffixes]
    render_ids = re.findall(rf'postrender/render-id"?: "?([0-9a-f]{{{RENDER_ID_LENGTH}}})', text)
    checksums = re.findall(r'postrender/checksum"?: "?([0-9a-f]{64})', text)
    return {*revisions, *render_ids, *checksums}


def forms(value: bytes) -> set[str]:
    """Return the forms that a value may have in a text."""
    text = value.decode("latin-1")
    based = base64.b64encode(value).decode()
    hashes = [getattr(hashlib, name)(value) for name in ("sha256", "sha1", "md5")]
    digests = [digest.hexdigest() for digest in hashes]
    lines = [line for line in text.splitlines() if "alpha" in line or "omega" in line]
    return {
        *lines,
        json.dumps(text)[1:-1],
        based,
        based.rstrip("="),
        base64.urlsafe_b64encode(value).decode().rstrip("="),
        base64.b64encode(based.encode()).decode().rstrip("="),
        value.hex(),
        *digests,
        *(digest[:8] for digest in digests),
        base64.b64encode(hashlib.sha256(value).digest()).decode().rstrip("="),
    }


def check(done: Result, forbidden: set[str]) -> None:
    assert done.code == 0, done.stderr
    text = done.stdout + done.stderr
    output = "\n".join((text, html.unescape(text)))
    leaks = {value for value in forbidden if value and value in output}
    leaks |= {word for word in ("alpha", "omega", KEY) if word in output}
    assert not leaks


@pytest.fixture(scope="module", params=[True, False], ids=["secrets-revised", "secrets-kept"])
def sides(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, set[str]]:
    """Return a folder with both sides, rendered and unrendered, and the forbidden texts."""
    folder = tmp_path_factory.mktemp("sides")
    (folder / ".git").mkdir()
    forbidden = {form for side in (OLD, NEW) for value in side.values for form in forms(value)}
    secrets = "--secrets" if request.param else "--no-secrets"
    attacher = {
        "rendered": ["--no-attacher"],
        "attached": ["--attacher-image", "registry.example.com/postrender:1"],
        "retained": ["--no-attacher", "--previous", "old-rendered.yaml"],
    }
    for name, side in (("old", OLD), ("new", NEW)):
        plain = folder / f"{name}-plain.yaml"
        plain.write_text(stream(side), "utf-8")
        for form, options in attacher.items():
            if (name, form) == ("old", "retained"):
                continue
            done = run(["render", secrets, *options, plain.name], folder)
            assert done.code == 0, done.stderr
            (folder / f"{name}-{form}.yaml").write_text(done.stdout, "utf-8")
            forbidden |= guessable(done.stdout)
    assert not request.param or len(guessable((folder / "new-rendered.yaml").read_text())) >= 8
    return folder, forbidden


PAIRS = [
    *((form, form) for form in ("plain", "rendered", "attached")),
    ("plain", "attached"),
    ("attached", "plain"),
    ("rendered", "retained"),
    ("plain", "retained"),
]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="-".join)
def test_a_preview_does_not_reveal_a_secret(
    sides: tuple[Path, set[str]], old: str, new: str
) -> None:
    folder, forbidden = sides
    names = [f"old-{old}.yaml", f"new-{new}.yaml"]
    for option in ("--secrets", "--no-secrets"):
        with one_comparison():
            for form in REPORTERS:
                done = run(["diff", option, "--format", form, *names], folder)
                check(done, forbidden)
                check_shows(form, done.stdout, "web-database")


@pytest.mark.parametrize("side", ["old-plain", "new-attached"])
def test_an_added_or_removed_secret_is_not_revealed(
    sides: tuple[Path, set[str]], side: str
) -> None:
    folder, forbidden = sides
    (folder / "empty.yaml").write_text("")
    pair = (f"{side}.yaml", "empty.yaml")
    for names in (pair, pair[::-1]):
        with one_comparison():
            for form in REPORTERS:
                done = run(["diff", "--secrets", "--allow-empty", "--format", form, *names], folder)
                check(done, forbidden)


@pytest.mark.parametrize("name", ["new-plain", "new-rendered", "new-attached", "new-retained"])
def test_an_explanation_does_not_reveal_a_secret(sides: tuple[Path, set[str]], name: str) -> None:
    folder, forbidden = sides
    for form, option in product(EXPLAIN_REPORTERS, ("--secrets", "--no-secrets")):
        done = run(["explain", option, "--no-attacher", "--format", form, f"{name}.yaml"], folder)
        # The location of a finding has the object's name as written.
        check(done._replace(stderr=""), forbidden)


def test_an_error_about_a_secret_does_not_show_its_content(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    good = stream(OLD)
    (tmp_path / "old.yaml").write_text(good)
    broken = {
        "a number": good.replace(json.dumps(encoded(OLD.data)), "314159265"),
        "a list": good.replace(json.dumps(encoded(OLD.data)), '["314159265"]'),
        "no base64": good.replace(json.dumps(encoded(OLD.data)), '"%314159265%"'),
        "not YAML": good.replace(json.dumps(encoded(OLD.data)), '"\\q314159265'),
    }
    for text in broken.values():
        (tmp_path / "new.yaml").write_text(text)
        for option in ("--secrets", "--no-secrets"):
            done = run(["diff", option, "old.yaml", "new.yaml"], tmp_path)
            assert "314159265" not in done.stdout + done.stderr
            assert encoded(OLD.string_data) not in done.stdout + done.stderr


def test_json_only_reports_that_a_secret_changes(sides: tuple[Path, set[str]]) -> None:
    folder, _ = sides
    names = ["old-plain.yaml", "new-plain.yaml"]
    preview = json.loads(run(["diff", "--secrets", "--format", "json", *names], folder).stdout)
    contents = [content for content in preview["contents"] if content["object"]["kind"] == "Secret"]
    assert len(contents) == 8
    for content in contents:
        assert (content["keys"], content["oldRevision"], content["newRevision"]) == ([], "", "")
    assert {revision["name"] for revision in preview["revisions"]} == {""}


@pytest.mark.parametrize("form", REPORTERS)
def test_a_secret_without_a_kind_is_not_revealed(form: str, tmp_path: Path) -> None:
    """Operators create Secrets from such mappings, which a pipeline can have decrypted."""
    for side, value in (("old", OLD.string_data), ("new", NEW.string_data)):
        data = {"data": {"a": encoded(value)}}
        specs = {
            "SopsSecret": {"secretTemplates": [{"name": "a", **data}, {"name": "b", **data}]},
            "Other": {"template": {"stringData": {"a": value}, **data}},
            "Equal": {"template": {"stringData": {"user": "admin"}, **data}},
        }
        documents = [
            {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
            for kind, spec in specs.items()
        ]
        (tmp_path / f"{side}.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    done = run(["diff", f"--format={form}", "old.yaml", "new.yaml"], tmp_path)
    check_shows(form, done.stdout, "SopsSecret")
    check_shows(form, done.stdout, "Other")
    check_shows(form, done.stdout, "Equal")
    for value in (OLD.string_data, NEW.string_data):
        assert encoded(value) not in done.stdout
        assert value.split("\n")[0] not in done.stdout


TEMPLATE = {"template": {"data": {"app.ini": "PLANTED"}}}
LITERAL = {"templateFrom": [{"literal": "PLANTED", "configMap": {"name": "VISIBLE"}}]}
HELM_VALUES = {
    "db": {"adminPassword": "PLANTED", "existingSecret": "VISIBLE"},
    "s3": {"secretAccessKey": "PLANTED", "aws_secret_access_key": "PLANTED"},
    "password": {"value": "PLANTED", "secretName": "VISIBLE", "passwordKey": "VISIBLE"},
    "token": {"valueFrom": {"secretKeyRef": {"name": "VISIBLE"}}, "inner": {"a": "PLANTED"}},
    "passwords": ["PLANTED", {"name": "VISIBLE", "value": "PLANTED"}],
    "apiKeys": {"web": "PLANTED"},
    "secretKeys": {"adminPasswordKey": "VISIBLE"},
    "tls": {"tls.key": "PLANTED", "tls.crt": "VISIBLE"},
    "slack": "https://hooks.slack.com/services/T0/B0/PLANTED",
    "image": {"pull": "ghp_PLANTED"},
}
# A text with values, of which the comment and the order are not told.
VALUES_TEXT = """\
# Old password: PLANTED
host: VISIBLE
db: {password: PLANTED, passwordKey: VISIBLE}
image:
  args: [--verbose, VISIBLE, --db-password, PLANTED, --token=PLANTED, --token-file=VISIBLE]
inner: |
  user: VISIBLE
  pwd: PLANTED
"""
SECRET_MANIFEST = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
PATCHES = [
    {"patch": f"{SECRET_MANIFEST}stringData: {{a: PLANTED}}"},
    {"patch": f"{SECRET_MANIFEST}data: {{a: PLANTED}}"},
    {"patch": "- {op: add, path: /stringData/a, value: PLANTED}"},
    {"patch": "- {op: add, path: /spec/api-key, value: PLANTED}"},
    {"patch": "- {op: add, path: /spec/host, value: VISIBLE}"},
    {"patch": "- {op: replace, path: /spec/containers/0/env/0/value, value: PLANTED}"},
    {"patch": "- {op: add, path: /spec/passwords/-, value: PLANTED}"},
    {"patch": "? password\n: PLANTED\n- ["},
    {"patch": "spec: {env: [{name: A_TOKEN, value: PLANTED}]}", "target": {"kind": "VISIBLE"}},
    {"patch": "data: {a: PLANTED}", "target": {"kind": "Secret"}},
]
HELM_PARAMETERS = [
    {"name": "db.api_key", "value": "PLANTED"},
    {"name": "db.passwordKey", "value": "VISIBLE"},
    {"name": "db.passwords[0]", "value": "PLANTED"},
    {"name": "db.token.value", "value": "PLANTED"},
]
PLUGIN = {
    "env": [{"name": "A_TOKEN", "value": "PLANTED"}],
    "parameters": [
        {"name": "password", "string": "PLANTED"},
        {"name": "db", "map": {"password": "PLANTED", "host": "VISIBLE"}},
        {"name": "tokens", "array": ["PLANTED"]},
        {"name": "host", "string": "VISIBLE"},
    ],
}
FAKE = {"provider": {"fake": {"data": [{"key": "VISIBLE", "value": "PLANTED"}]}}}
HELM = {"valuesObject": HELM_VALUES, "parameters": HELM_PARAMETERS}
# By kind, an object with PLANTED in each field that is the content of a Secret, and VISIBLE in
# a field next to it.
SECRET_FIELDS: dict[str, object] = {
    "SealedSecret": {"spec": {"encryptedData": {"a": "VISIBLE"}, **TEMPLATE}},
    "ExternalSecret": {
        "spec": {"target": {"name": "VISIBLE", "template": {**TEMPLATE["template"], **LITERAL}}}
    },
    "ClusterExternalSecret": {"spec": {"externalSecretSpec": {"target": {**TEMPLATE}}}},
    "PushSecret": {"spec": {"template": LITERAL}},
    "ClusterPushSecret": {"spec": {"pushSecretSpec": {"template": LITERAL}}},
    "Fake": {"spec": {"controller": "VISIBLE", "data": {"a": "PLANTED"}}},
    "ClusterGenerator": {"spec": {"generator": {"fakeSpec": {"data": {"a": "PLANTED"}}}}},
    "SecretStore": {"spec": FAKE},
    "ClusterSecretStore": {"spec": FAKE},
    "InfisicalSecret": {
        "spec": {
            "managedKubeSecretReferences": [TEMPLATE, {"template": {"data": ["PLANTED"]}}],
            "managedSecretReference": {"secretName": "VISIBLE", "template": {"data": "PLANTED"}},
        }
    },
    "VaultStaticSecret": {
        "spec": {
            "path": "VISIBLE",
            "destination": {"transformation": {"templates": {"a": {"text": "PLANTED"}}}},
        }
    },
    "SecretTransformation": {"spec": {"sourceTemplates": [{"name": "a", "text": "PLANTED"}]}},
    "Vault": {
        "spec": {"externalConfig": {"startupSecrets": [{"data": {"data": {"a": "PLANTED"}}}]}}
    },
    "Kustomization": {
        "secretGenerator": [{"name": "a", "literals": ["a=PLANTED"], "files": ["VISIBLE"]}],
        "patches": PATCHES,
        "replacements": [
            {"sourceValue": "VISIBLE", "targets": [{"fieldPaths": ["spec.host"]}]},
            {"sourceValue": "PLANTED", "targets": [{"fieldPaths": ["spec.db.password"]}]},
            {"sourceValue": "PLANTED", "targets": [{"select": {"kind": "Secret"}}]},
        ],
        "configMapGenerator": [{"name": "a", "literals": ["a=VISIBLE"]}],
        "helmCharts": [{"name": "VISIBLE", "valuesInline": HELM_VALUES}],
        "spec": {"postBuild": {"substitute": {"DB_PASSWORD": "PLANTED", "HOST": "VISIBLE"}}},
    },
    # The shape is wrong.
    "Component": {"secretGenerator": [{"name": "VISIBLE", "literals": "a=PLANTED"}]},
    "VaultPKISecret": {"spec": {"destination": {"transformation": {"templates": ["PLANTED"]}}}},
    "Certificate": {
        "spec": {"dnsNames": ["VISIBLE"], "keystores": {"jks": {"password": "PLANTED"}}}
    },
    "GrafanaDatasource": {
        "spec": {"datasource": {"url": "VISIBLE", "secureJsonData": {"header": "PLANTED"}}}
    },
    "HelmRelease": {
        "spec": {"values": HELM_VALUES, "postRenderers": [{"kustomize": {"patches": PATCHES}}]}
    },
    "HelmChart": {
        "spec": {
            "set": {"token": "PLANTED", "tokenSecretName": "VISIBLE"},
            "valuesContent": VALUES_TEXT,
        }
    },
    "HelmChartConfig": {"spec": {"valuesContent": "{{ not YAML }}\npassword: PLANTED\n"}},
    "Release": {"spec": {"forProvider": {"values": HELM_VALUES, "set": HELM_PARAMETERS}}},
    "Bundle": {"spec": {"helm": {"values": HELM_VALUES}}},
    "Application": {
        "spec": {
            "source": {"helm": HELM, "plugin": PLUGIN},
            "sources": [{"helm": HELM}],
        }
    },
    "ApplicationSet": {
        "spec": {
            "template": {
                "spec": {
                    "source": {"helm": {**HELM, "values": VALUES_TEXT}},
                    "sources": [
                        {"helm": {"valuesObject": "pwd: PLANTED", "parameters": ["pwd=PLANTED"]}}
                    ],
                }
            },
            "templatePatch": "spec:\n  source:\n    helm:\n      values: |\n        pwd: PLANTED",
            "generators": [{"list": {"elements": [{"cluster": "VISIBLE", "apikey": "PLANTED"}]}}],
        }
    },
    # postrender does not know these kinds or fields, which are no Secrets.
    "SecretProviderClass": {"spec": {"parameters": {"objects": "VISIBLE", "tokens": "VISIBLE"}}},
    "Widget": {"spec": {"template": {"data": {"a": "VISIBLE"}}, "password": "VISIBLE"}},
}


@pytest.mark.parametrize("kind", SECRET_FIELDS)
@pytest.mark.parametrize("sides", [("alpha", "omega"), ("", "omega"), ("alpha", "")])
def test_fields_that_become_the_content_of_a_secret_are_not_revealed(
    kind: str, sides: tuple[str, str], tmp_path: Path
) -> None:
    for name, side in zip(("old", "new"), sides, strict=True):
        text = json.dumps(SECRET_FIELDS[kind])
        text = text.replace("PLANTED", f"planted-{side}").replace("VISIBLE", f"visible-{side}")
        data = {"apiVersion": "a/v1", "kind": kind, "metadata": {"name": "x"}, **json.loads(text)}
        other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "y"}}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(data if side else other))
    with one_comparison():
        outputs = {
            form: run(["diff", f"--format={form}", "old.yaml", "new.yaml"], tmp_path).stdout
            for form in REPORTERS
        }
    for form, output in outputs.items():
        assert "planted" not in output
        for side in sides:
            if side and "VISIBLE" in json.dumps(SECRET_FIELDS[kind]):
                check_shows(form, output, f"visible-{side}")
        check_shows(form, output, kind)


@pytest.mark.parametrize("kind", SECRET_FIELDS)
def test_a_change_of_a_hidden_field_is_a_change(kind: str, tmp_path: Path) -> None:
    only_planted = json.dumps(SECRET_FIELDS[kind]).replace("VISIBLE", "same")
    for name, side in (("old", "a"), ("new", "b")):
        text = only_planted.replace("PLANTED", side)
        data = {"apiVersion": "a/v1", "kind": kind, "metadata": {"name": "x"}, **json.loads(text)}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(data))
    code = run(["diff", "--exit-code", "old.yaml", "new.yaml"], tmp_path).code
    assert code == (4 if "PLANTED" in only_planted else 0)


def test_the_number_of_tokens_is_not_secret() -> None:
    values: dict[str, Json] = {
        "maxTokens": 4096,
        "tokens": [4096],
        "token": 4096,
        "password": {"length": 16},
    }
    marked = mark_fields({"kind": "HelmRelease", "spec": {"values": values}})
    expected = {**values, "tokens": [Redacted("4096")], "token": Redacted("4096")}
    assert marked["spec"] == {"values": expected}


NAMES = """pwd DB_PWD passwd mysqlRootPassword PASSWORD passPhrase apikey APIKey api_key apiKeys
dbPat PAT github.pat credential credentials connectionString connection_string dsn SENTRY_DSN
sentryDsn accessToken token tokens jwtSecret cookieSecret encryptionKey secretKeyBase db.pass
API_SECRET encryptionSecret requirepass"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_of_a_secret_hides_its_value(name: str) -> None:
    for value in ("planted", 1234 if not name.endswith("s") else "1234"):
        assert isinstance(with_marked_names(value, name), Redacted)
        assert isinstance(with_marked_names({name: {"value": value}}, "")[name]["value"], Redacted)  # type: ignore[call-overload,index]


@pytest.mark.parametrize(
    "value",
    [
        {"token": {"audience": "x", "expirationSeconds": 60, "issuer": "x", "type": "x"}},
        {"secretName": "x", "passwordKey": "x", "tokenSecretRef": {"name": "x", "key": "token"}},
        {"existingSecret": "x", "existingSecretPasswordKey": "x", "existingSecretKey": "x"},
        {"allowEmptyPassword": "yes", "REQUIRE_PASSWORD": "no", "useToken": "x"},
        {"password": {"secretName": "x", "key": "x"}, "tokenUrl": "https://host:80/x?a=b"},
        {"compat": "x", "path": "/x", "pattern": "x", "format": "x", "passThrough": "x"},
        {"args": ["--password=$(DB_PASSWORD)", "--token-file", "/x", "--password-file=/x"]},
        {"url": "https://user@host/a@b", "image": "host:80/a@sha256:x", "email": "a@b"},
        {
            "text": "password: {secretName: x}\n# about passwords\n---\na: 1\n",
            "note": "no password needed",
        },
    ],
)
def test_a_setting_of_a_secret_is_shown(value: dict[str, Json]) -> None:
    marked = with_marked_names(value, "")
    assert marked == value
    assert "Redacted" not in repr([type(text) for text in texts_in(marked)])


def texts_in(value: Json) -> list[str]:
    if isinstance(value, (dict, list)):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in texts_in(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "text",
    [
        "postgres://web:planted@host/db",
        "redis://:planted@host",
        "mysqld --password=planted",
        "mysqld --password planted",
        "Server=a;Password=planted;",
        "-Dspring.datasource.password=planted",
        "jdbc:x://host/db?password=planted",
        "-----BEGIN RSA PRIVATE KEY-----\nplanted",
        "https://planted-token-planted-token@host/x",
        "[section]\npassword = planted\n",
        "a: &a planted\npassword: *a\n",
        "password: planted\npassword: other\n",
        '{"a": "{\\"password\\": \\"planted\\"}"}',
        "a: 1\n---\npassword: planted\n",
        "a: [\npassword:\n  planted\n",
        'password: {{ default "planted" .Values.password }}\n[',
        "<db><password>planted</password></db>",
        "'password' => 'planted'",
        "curl -u web:planted https://host",
        "web:planted@tcp(host:3306)/db",
        '{"auths": {"host": {"auth": "planted"}}}',
        '{"extraSecrets": [{"name": "a", "data": {"b": "planted"}}]}',
        "kind: Secret\ndata: {a: planted}\n---\n",
    ],
)
def test_a_form_of_a_secret_hides_the_text(text: str) -> None:
    marked = with_marked_names(text, "a")
    assert isinstance(marked, Redacted)
    assert "planted" not in redact(marked, {})


def test_a_text_in_many_texts_is_hidden() -> None:
    value: Json = "planted"
    for _ in range(5):
        value = json.dumps({"a": {"b": value}})
    shown = redact(with_marked_names({"a": value}), {})
    assert "planted" not in json.dumps(shown)
    deep: Json = "planted"
    for _ in range(250):
        deep = [deep]
    assert "planted" not in json.dumps(redact(with_marked_names(deep), {}))


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pushsecrets.a"},
    "spec": {
        "group": "a",
        "names": {"kind": "PushSecret", "plural": "pushsecrets"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}


@pytest.mark.parametrize("form", REPORTERS)
def test_a_risk_of_a_secret_field_does_not_show_its_value(form: str, tmp_path: Path) -> None:
    schema: dict[str, object] = {"type": "object", "additionalProperties": {"enum": ["x"]}}
    schema = {"type": "object", "properties": {"data": schema, "stringData": schema}}
    for key in ("template", "spec"):
        schema = {"type": "object", "properties": {key: schema}}
    crd = json.loads(json.dumps(CRD))
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    for name, value in (("old", "x"), ("new", "planted")):
        spec = {"template": {"data": {"a": value}, "stringData": {"a": value}}}
        data = {"apiVersion": "a/v1", "kind": "PushSecret", "metadata": {"name": "x"}, "spec": spec}
        (tmp_path / f"{name}.yaml").write_text(f"{json.dumps(crd)}\n---\n{json.dumps(data)}")
    done = run(["diff", f"--format={form}", "old.yaml", "new.yaml"], tmp_path)
    check_shows(form, done.stdout, "PushSecret")
    assert "planted" not in done.stdout
    if form == "text":
        assert "the schema does not allow the value" in done.stdout
