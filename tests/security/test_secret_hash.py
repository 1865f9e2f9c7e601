"""With a key, nobody can guess a Secret from the name of its revision."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import re
import string

import pytest

from postrender.kubernetes.hashing import (
    CONTENT_HASH_LENGTH,
    HASH_SUFFIX,
    HashKey,
    canonical_json,
    encode_hash,
)
from tests.security.attack import Attack

KEY = "0123456789abcdef0123456789abcdef"
OTHER_KEY = "another-key-another-key-another-"
PIN = "0417"
SECRET = """\
---
apiVersion: v1
kind: Secret
metadata: {name: db}
type: Opaque
stringData: {pin: "%s"}
"""
WORKLOAD = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, envFrom: [{secretRef: {name: db}}]}]
"""
MANIFESTS = SECRET % PIN + WORKLOAD
OPTIONS = ("--secrets", "--no-keep-original", "--no-attacher")
MARK = re.compile(r'postrender/hash"?: "?hmac-sha256')
VARIABLE = {"POSTRENDER_SECRETS_HASH_KEY": KEY}


def render(attack: Attack, *options: str, stdin: str = MANIFESTS, **variables: str) -> str:
    done = attack.run(*OPTIONS, *options, stdin=stdin, environment=variables)
    assert done.code == 0, done.err
    assert KEY not in done.out + done.err
    return done.out


def name_in(output: str) -> str:
    [name] = set(re.findall(rf"\bdb{HASH_SUFFIX}\b", output))
    return str(name)


def guess(name: str) -> list[str]:
    """Return the PINs whose hash without a key fits a name, as an attacker computes the hash."""
    found = []
    for digits in itertools.product(string.digits, repeat=4):
        pin = "".join(digits)
        content = {"kind": "Secret", "name": "", "data": "", "type": "Opaque"}
        text = canonical_json({**content, "stringData": {"pin": pin}})
        if name == f"db-{encode_hash(text, CONTENT_HASH_LENGTH)}":
            found.append(pin)
    return found


def test_without_a_key_a_pin_can_be_guessed(attack: Attack) -> None:
    assert guess(name_in(render(attack))) == [PIN]


def test_with_a_key_a_pin_cannot_be_guessed(attack: Attack) -> None:
    assert guess(name_in(render(attack, **VARIABLE))) == []


def test_the_name_is_stable_and_depends_on_the_key(attack: Attack) -> None:
    attack.write("key", f"{KEY}\n")
    attack.write("other", OTHER_KEY)
    first = name_in(render(attack, **VARIABLE))
    assert name_in(render(attack, "--secrets-hash-key-file=key")) == first
    assert name_in(render(attack, POSTRENDER_SECRETS_HASH_KEY_FILE="key")) == first
    attack.write("postrender.yaml", "secretsHashKeyFile: key\n")
    assert name_in(render(attack)) == first
    other = name_in(render(attack, "--secrets-hash-key-file=other", **VARIABLE))
    assert other != first


def test_the_hash_is_the_documented_hmac(attack: Attack) -> None:
    text = '{"data":"","kind":"Secret","name":"","stringData":{"pin":"0417"},"type":"Opaque"}'
    digest = hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
    suffix = digest[:CONTENT_HASH_LENGTH].translate(str.maketrans("013ae", "ghkmt"))
    assert name_in(render(attack, **VARIABLE)) == f"db-{suffix}"


def test_configmaps_keep_their_names(attack: Attack) -> None:
    stdin = MANIFESTS.replace("Secret", "ConfigMap").replace("secretRef", "configMapRef")
    stdin = stdin.replace("type: Opaque\n", "").replace("stringData", "data")
    assert render(attack, stdin=stdin) == render(attack, stdin=stdin, **VARIABLE)


def test_a_checksum_of_a_secret_uses_the_key(attack: Attack) -> None:
    stdin = MANIFESTS.replace(
        "{name: db}\ntype", "{name: db, annotations: {postrender/strategy: checksum}}\ntype"
    )
    checksums = {
        re.findall(
            r"postrender/checksum\"?: \"([0-9a-f]+)\"", render(attack, stdin=stdin, **variables)
        )[0]
        for variables in ({}, VARIABLE, {"POSTRENDER_SECRETS_HASH_KEY": OTHER_KEY})
    }
    assert len(checksums) == 3


# Checks of the name


def test_the_revision_is_marked(attack: Attack) -> None:
    assert "postrender/hash" not in render(attack)
    assert len(MARK.findall(render(attack, **VARIABLE))) == 1


@pytest.mark.parametrize("variables", [{}, VARIABLE], ids=["without the key", "with the key"])
def test_a_second_run_has_the_same_output_without_findings(
    attack: Attack, variables: dict[str, str]
) -> None:
    output = render(attack, **VARIABLE)
    done = attack.run(*OPTIONS, "--no-strict", stdin=output, environment=variables)
    assert (done.code, done.out) == (0, output)
    assert "stale-revision" not in done.err
    done = attack.run("check", "--secrets", stdin=output, environment=variables)
    assert (done.code, done.err) == (0, "")


def test_an_edited_secret_is_found_with_the_key(attack: Attack) -> None:
    edited = render(attack, **VARIABLE).replace(PIN, "9999")
    done = attack.run("check", "--secrets", stdin=edited, environment=VARIABLE)
    assert done.code == 1
    assert "does not match the hash in the name" in done.err
    assert "Also check that the hash key has not changed. [stale-revision]" in done.err


def test_an_edited_secret_without_a_key_is_still_found(attack: Attack) -> None:
    edited = render(attack).replace(PIN, "9999")
    for variables in ({}, VARIABLE):
        done = attack.run("check", "--secrets", stdin=edited, environment=variables)
        assert done.code == 1
        assert "[stale-revision]" in done.err


def test_explain_shows_that_the_hash_has_a_key(attack: Attack) -> None:
    output = render(attack, **VARIABLE)
    done = attack.run("explain", *OPTIONS, "--output=json", stdin=output, environment=VARIABLE)
    [entry] = json.loads(done.out)["objects"]
    assert entry["reason"] == "the Secret is already a revision, with a keyed hash"


def test_the_file_of_the_key_is_relative_to_the_configuration(attack: Attack) -> None:
    attack.write("key", VARIABLE["POSTRENDER_SECRETS_HASH_KEY"])
    attack.write("deploy/key", "another key of 32 characters .....")
    attack.write("deploy/postrender.yaml", "secretsHashKeyFile: ../key\n")
    expected = name_in(render(attack, **VARIABLE))
    assert name_in(render(attack, "--config=deploy/postrender.yaml")) == expected
    assert name_in(render(attack, "--config=deploy")) == expected


def test_the_preview_pairs_keyed_revisions(attack: Attack) -> None:
    attack.write("old.yaml", MANIFESTS)
    attack.write("new.yaml", render(attack, stdin=SECRET % "1111" + WORKLOAD, **VARIABLE))
    attack.write("same.yaml", render(attack, **VARIABLE))
    options = ("diff", "--secrets", "--no-keep-original", "--exit-code", "old.yaml")
    changed = attack.run(*options, "new.yaml", environment=VARIABLE)
    assert (changed.code, PIN in changed.out) == (4, False)
    assert "Secret/db" in changed.out
    # One side is not rendered, which is undecided. The Secret itself is not a change.
    same = attack.run(*options, "same.yaml", environment=VARIABLE)
    assert (same.code, "Secret/db" in same.out) == (4, False), same.out


def test_the_history_keeps_keyed_revisions(attack: Attack) -> None:
    first = render(attack, "--previous=/dev/null", **VARIABLE)
    attack.write("first.yaml", first)
    second = render(attack, "--previous=first.yaml", stdin=SECRET % "1111" + WORKLOAD, **VARIABLE)
    assert name_in(first) in second
    assert len(MARK.findall(second)) == 2
    attack.write("second.yaml", second)
    assert name_in(first) in render(attack, "--previous=second.yaml", **VARIABLE)


# The key


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the hash key has 0 bytes, expected 16 to 4096. Create a key with `openssl rand"),
        (b"short\n", "the hash key has 5 bytes, expected 16 to 4096"),
        (b"x" * 5000, "the hash key has more than 4096 bytes"),
        (b"x" * 4096 + b"\nx", "the hash key has more than 4096 bytes"),
        (b"x" * 4096 + b"\n\n\nx", "the hash key has more than 4096 bytes"),
        (None, "postrender cannot read the hash key (No such file or directory). Fix the path in"),
    ],
)
def test_a_bad_key_is_an_error(attack: Attack, content: bytes | None, problem: str) -> None:
    if content is not None:
        (attack.repository / "key").write_bytes(content)
    done = attack.run(*OPTIONS, "--secrets-hash-key-file=key", stdin=MANIFESTS)
    assert (done.code, done.out) == (2, "")
    assert f"key: {problem}" in done.err
    assert "short" not in done.err


@pytest.mark.parametrize(
    "content", [b"x" * 16, b"x" * 4096, b"x" * 4096 + b"\n", b"x" * 16 + b"\r\n"]
)
def test_the_shortest_and_the_longest_key(attack: Attack, content: bytes) -> None:
    (attack.repository / "key").write_bytes(content)
    done = attack.run(*OPTIONS, "--secrets-hash-key-file=key", stdin=MANIFESTS)
    assert done.code == 0, done.err
    key = content.rstrip(b"\r\n").decode()
    assert done.out == render(attack, POSTRENDER_SECRETS_HASH_KEY=key)


def test_the_fix_for_a_configured_key_file_is_its_setting(attack: Attack) -> None:
    (attack.repository / "postrender.yaml").write_text("secrets: true\nsecretsHashKeyFile: key\n")
    done = attack.run("--no-attacher", stdin=MANIFESTS)
    assert "Fix the path in secretsHashKeyFile, or set POSTRENDER_SECRETS_HASH_KEY." in done.err


def test_without_secrets_the_key_is_not_read(attack: Attack) -> None:
    done = attack.run("--no-attacher", "--secrets-hash-key-file=absent", stdin=MANIFESTS)
    assert (done.code, done.out) == (0, MANIFESTS)


@pytest.mark.parametrize(
    "command",
    [
        ["render", "-v"],
        ["explain", "--output=json"],
        ["explain"],
        ["check"],
        ["diff", "--output=html", "-", "new.yaml"],
        ["config", "show"],
        ["render", "--previous=helm:NO"],
    ],
    ids=" ".join,
)
def test_the_key_is_never_printed(attack: Attack, command: list[str]) -> None:
    attack.write("new.yaml", SECRET % "1111" + WORKLOAD)
    options = ("--secrets", "--log-file=log")
    done = attack.run(*command, *options, stdin=MANIFESTS, environment=VARIABLE)
    log = attack.repository / "log"
    texts = done.out + done.err + (log.read_text() if log.exists() else "")
    assert KEY not in texts
    assert KEY.encode().hex() not in texts


@pytest.mark.parametrize("key", [KEY[:3], KEY * 400])
def test_an_invalid_key_is_not_printed(attack: Attack, key: str) -> None:
    variable = {"POSTRENDER_SECRETS_HASH_KEY": key}
    done = attack.run("--secrets", stdin=MANIFESTS, environment=variable)
    assert done.code == 2
    assert "the hash key has" in done.err
    assert key[:3] not in done.err


def test_a_key_has_no_text() -> None:
    key = HashKey(KEY.encode())
    assert KEY not in repr(key) + str(key) + f"{(key,)}"
