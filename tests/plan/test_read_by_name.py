"""Readers that postrender cannot rewrite: the original stays if a string may be its name."""

from __future__ import annotations

import json
import re
from base64 import b64encode

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

SETTINGS = Settings(attacher=AttacherSettings(image="image:1"))
APPLICATION = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-config
data: {greeting: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom: [{configMapRef: {name: web-config}}]
---
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web-config}\n---\n"
COMPUTED = '{"metadata": {"labels": {"a": "b"}, "name": "web-config"}, "kind": "ConfigMap"}'


def rendered(extra: str) -> str:
    inventory = take_inventory(read_stream((APPLICATION + extra).encode(), "input"), SETTINGS)
    return "".join(render(make_plan(inventory, SETTINGS)))


def is_kept(extra: str) -> bool:
    return "  name: web-config\n" in rendered(extra)


def rendered_names(extra: str) -> list[str]:
    return re.findall(r"^  name: (web-config.*)$", rendered(extra), re.MULTILINE)


def config_map(text: str, field: str = "data") -> str:
    data = json.dumps({field: {"key": text}})
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other}}\n{data[1:-1]}\n"


def container(**fields: object) -> str:
    template = json.dumps({"spec": {"containers": [{"name": "other", **fields}]}})
    spec = f"{{template: {template}}}"
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: other}}\nspec: {spec}\n"


def widget(spec: str) -> str:
    return f"apiVersion: acme.io/v1\nkind: Widget\nmetadata: {{name: other}}\nspec: {spec}\n"


# Files in other languages than YAML, and YAML in odd shapes. The name is unique to the ConfigMap.
TEXTS = {
    "Python": 'NAME = "web-config"\napi.read_namespaced_config_map(NAME, "prod")',
    "Python dict": "{'configMap': {\n  'name': 'web-config',\n}}",
    "Go": 'name := "web-config"\nclient.CoreV1().ConfigMaps(ns).Get(ctx, name, options)',
    "HCL": 'data "kubernetes_config_map" "web" {\n  metadata {\n    name = "web-config"\n  }\n}',
    "TOML": '[volumes.configMap]\nname = "web-config"\n',
    "XML": "<configMap>\n  <name>web-config</name>\n</configMap>",
    "INI": "[kubernetes]\nconfig_name = web-config\n",
    "a list": "configMaps:\n- other\n- web-config\n",
    "a comment": "kind: ConfigMap # of the chart\nname: web-config\n",
    "quotes": "kind: 'ConfigMap'\nmetadata:\n  name: 'web-config'\n",
    "many labels": "kind: ConfigMap\nmetadata:\n  labels:\n"
    + "".join(f"    label-{number}: a\n" for number in range(20))
    + "  name: web-config\n",
    "JSON": json.dumps(json.loads(COMPUTED), indent=1),
    "JSON with tabs": json.dumps({"configMap": {"name": "web-config"}}, indent="\t"),
    "an anchor": "name: &name web-config\nvolumes:\n- configMap:\n    name: *name\n",
    "a folded name": "configMap:\n  name: >-\n    web-config\n",
    "CRLF": "configMap:\r\n  name: web-config\r\n",
    "Spring": "spring:\n  cloud:\n    kubernetes:\n      config:\n        name: web-config\n",
    "sources of Spring": "spring:\n  cloud:\n    kubernetes:\n      config:\n        sources:\n"
    "        - name: web-config\n",
    "a property of Spring": "spring.cloud.kubernetes.config.sources[0].name=web-config\n",
    "a short command": "k get cm web-config",
    "a variable with a kind": "RESOURCE=cm/web-config\nkubectl get $RESOURCE",
    "a function": 'read() { kubectl get "$1" "$2"; }\nread cm web-config',
    "a list of all": "kubectl get cm -o name |\n  grep web-config",
    "a setting": "mode: fast\nsettings: web-config\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_with_the_kind_keeps_the_original(name: str) -> None:
    assert is_kept(config_map(TEXTS[name]))
    assert is_kept(container(args=["-c", TEXTS[name]]))
    assert is_kept(config_map(b64encode(TEXTS[name].encode()).decode(), "binaryData"))


# The name is built at run time, or written with escapes.
BUILT = {
    "a variable": 'kubectl get configmap "$RELEASE-config" -o yaml',
    "a variable with braces": 'kubectl get cm "${RELEASE}-config"',
    "a default value": "N=${N:-web}-config; kubectl get cm $N",
    "a loop": "for n in config routes; do kubectl get cm web-$n; done",
    "a continued line": "kubectl get cm web-\\\nconfig",
    "quotes": 'kubectl get cm "web"-config',
    "Python": "api.read_namespaced_config_map(app + '-config', namespace)",
    "Go": 'client.ConfigMaps(ns).Get(ctx, fmt.Sprintf("%s-config", app), options)',
    "a format": "name = 'web-{}'.format(x)\napi.read_namespaced_config_map(name, ns)",
    "a template of Helm": "kind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\n",
    "a template of envsubst": "volumes:\n- configMap:\n    name: ${APP}-config\n",
    "a part inside": 'kubectl get cm "$A-web-config" || kubectl get cm "web-$B"',
    "a URL": "curl https://kubernetes/api/v1/namespaces/d/configmaps/$APP-config",
    "JSONPath": "path = .configmaps.web-config.data\n",
    "a templated kind": "kind: {{ .Kind }}\nmetadata:\n  name: web-config\n",
    "Spring in flow style": "spring: {application: {name: web}, cloud: {kubernetes: "
    '{config: {name: "${spring.application.name}-config"}}}}',
    "Spring in blocks": "spring:\n  cloud:\n    kubernetes:\n      config:\n"
    '        name: "${spring.application.name}-config"\n',
    "an escape in JSON": '{"configMap": {"name": "web\\u002dconfig"}}',
    "an escape in JSON in JSON": r'{"m": "{\"configMap\": {\"name\": \"web\\u002dconfig\"}}"}',
}


@pytest.mark.parametrize("name", BUILT)
def test_a_name_that_a_text_builds_keeps_the_original(name: str) -> None:
    assert is_kept(config_map(BUILT[name]))
    assert is_kept(container(command=["sh", "-c", BUILT[name]]))
    assert is_kept(widget(json.dumps({"run": BUILT[name]})))
    assert is_kept(config_map(b64encode(BUILT[name].encode()).decode(), "binaryData"))


@pytest.mark.parametrize(
    "extra",
    [
        container(args=["--settings=$(RELEASE)-config"], env=[{"name": "RELEASE", "value": "web"}]),
        container(args=["--configmap", "prod.web-config"]),
        container(env=[{"name": "N", "value": "$(R)-config"}], command=["kubectl get cm $N"]),
        widget("{configMap: {name: '{{release}}-config'}}"),
        "apiVersion: v1\nkind: Node\nmetadata: {name: other}\n"
        "spec: {configSource: {configMap: {name: web-config}}}\n",
    ],
)
def test_a_part_of_the_name_in_a_field_keeps_the_original(extra: str) -> None:
    assert is_kept(extra)


def policy(expression: str, resource: str = "configmaps", kind: str = "Validating") -> str:
    spec = {
        "matchConstraints": {"resourceRules": [{"resources": [resource], "operations": ["*"]}]},
        "validations": [{"expression": expression}],
    }
    return (
        f"apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}AdmissionPolicy\n"
        f"metadata: {{name: other}}\nspec: {json.dumps(spec)}\n"
    )


# A condition on the name is wrong for a revision, so the ConfigMap keeps its name.
CONDITIONS = (
    *("object.metadata.name == 'web-config'", "object.metadata.name.endsWith('-config')"),
    *("object.metadata.name.endsWith('config')", "object.metadata.name.startsWith('web-')"),
    *("object.metadata.name.matches('^web-.*')", "object.metadata.name.matches('.*-config$')"),
)


@pytest.mark.parametrize("expression", CONDITIONS)
def test_a_policy_with_a_condition_on_the_name_keeps_the_name(expression: str) -> None:
    for resource in ("configmaps", "*"):
        names = rendered_names(policy(expression, resource))
        assert names == ["web-config"]
    assert rendered_names(policy("object.metadata.name == 'other'")) != ["web-config"]
    assert (
        rendered_names(policy("object.metadata.name.endsWith('-config')", "pods"))[0]
        != "web-config"
    )


# The text has pieces of the name without a `-`, which it joins or searches.
JOINED = {
    "printf": "kubectl get cm $(printf '%s-%s' web config)",
    "two variables": 'A=web; B=config; kubectl get cm "$A-$B"',
    "Python": 'api.read_namespaced_config_map("-".join([app, "config"]), ns)',
    "Go": 'c.ConfigMaps(ns).Get(ctx, strings.Join([]string{app, "config"}, "-"), o)',
    "Jinja": "kind: ConfigMap\nname: {{ [app, 'config'] | join('-') }}\n",
    "grep": "kubectl get cm -o name | grep -E 'config$'",
    "jq": """kubectl get cm -o json | jq '.items[] | select(.metadata.name|test("^web"))'""",
    "a scheme": "source: kubernetes://prod/web-config\n",
    "hexadecimal": "kubectl get cm $(printf 'web\\x2dconfig')",
}


@pytest.mark.parametrize("name", JOINED)
def test_a_joined_name_keeps_the_original(name: str) -> None:
    assert is_kept(config_map(JOINED[name]))
    assert is_kept(container(command=["sh", "-c", JOINED[name]]))


# In a custom kind, another field than that with the name can tell the kind.
RESOURCES = {
    "a filter": widget("{resource: configmaps, filter: {prefix: web}}"),
    "a format": widget("{base: {kind: ConfigMap}, patches: [{fmt: '%s-config'}]}"),
    "a glob": widget("{match: {kinds: [ConfigMap], names: ['*-config']}}"),
    "a condition": widget(
        "{kinds: [ConfigMap], key: \"{{ ends_with(request.name, '-config') }}\"}"
    ),
    "a key of any mapping": widget("{maps: {web-config: {key: a}}}"),
    "pieces": container(
        command=["sh", "-c", "kubectl get cm $A-$B"],
        env=[{"name": "A", "value": "web"}, {"name": "B", "value": "config"}],
    ),
    "a key after a dot": container(env=[{"name": "X", "value": "-Dconfigmap=web-config.yaml"}]),
    "a mapping in a field for files": widget("{file: {configMap: web-config.app.yaml}}"),
}


@pytest.mark.parametrize("name", RESOURCES)
def test_the_kind_in_another_field_keeps_the_original(name: str) -> None:
    assert is_kept(RESOURCES[name])


@pytest.mark.parametrize(
    "extra",
    [
        config_map("kubectl get cm other; echo '-' config"),
        config_map("A=web; B=config; echo $A-$B"),
        widget("{kinds: [Service], names: ['*-config']}"),
        widget("{configMapRef: {name: other, key: web-config.json}}"),
        widget("{template: {metadata: {annotations: {checksum/web-config: a}}}}"),
    ],
)
def test_pieces_without_the_kind_or_a_join_do_not_count(extra: str) -> None:
    assert not is_kept(extra)


REGO = """violation[{"msg": "a"}] {
  input.review.kind.kind == "ConfigMap"
  not endswith(input.review.object.metadata.name, "config")
}"""


def test_a_policy_of_gatekeeper_keeps_the_name() -> None:
    text = widget(json.dumps({"targets": [{"rego": REGO}]}))
    text = text.replace("acme.io/v1", "templates.gatekeeper.sh/v1")
    assert rendered_names(text) == ["web-config"]


# The name is built from a variable, whose own name says that it is a part.
AFFIXES = {
    "a prefix": container(env=[{"name": "CONFIGMAP_PREFIX", "value": "web"}]),
    "a suffix": container(env=[{"name": "CONFIGMAP_SUFFIX", "value": "config"}]),
    "a suffix with a hyphen": container(env=[{"name": "CONFIGMAP_SUFFIX", "value": "-config"}]),
    "a flag": container(args=["--config-map-prefix=web-"]),
    "a field": widget("{configMapNamePrefix: web}"),
    "Go": config_map('for cm in configMaps { if strings.HasSuffix(cm.Name, "config") {}}'),
    "Python": config_map("[m for m in list_config_map() if m.metadata.name.endswith('config')]"),
}


@pytest.mark.parametrize("name", AFFIXES)
def test_a_prefix_or_suffix_of_the_name_keeps_the_original(name: str) -> None:
    assert is_kept(AFFIXES[name])


@pytest.mark.parametrize(
    "extra",
    [
        container(env=[{"name": "URL_PREFIX", "value": "web"}]),
        container(env=[{"name": "CONFIGMAP_PREFIX", "value": "other"}]),
        config_map("prefix: web\nconfig: /etc/x"),
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: other}\n"
        "spec: {rules: [{http: {paths: [{pathType: Prefix, path: /web}]}}]}\n",
    ],
)
def test_other_prefixes_do_not_count(extra: str) -> None:
    assert not is_kept(extra)


@pytest.mark.parametrize(
    "extra",
    [
        config_map("prog -config a.yaml # kubectl get cm other"),
        config_map("# kubectl get cm\nhost: $POD-config\n"),
        config_map("kubectl get cm other; touch web-config.yaml.bak", "data").replace("web-", "x-"),
        container(args=["-config=/etc/a"], env=[{"name": "URL", "value": "http://$(A)-config"}]),
        config_map("kubectl get cm $APP-routes"),
        config_map("cp /config-map/a .\nmysql -h $(hostname)-0.web-config"),
    ],
)
def test_a_part_without_a_kind_or_of_another_name_does_not_count(extra: str) -> None:
    assert not is_kept(extra)


# The forms in which also a name that a Service has is that of the ConfigMap.
STRUCTURED = (
    *("TOML", "XML", "a list", "a comment", "quotes", "many labels", "JSON", "JSON with tabs"),
    *("CRLF", "Spring", "sources of Spring", "a property of Spring", "a short command"),
)


@pytest.mark.parametrize("name", STRUCTURED)
def test_a_structure_is_enough_for_a_name_that_a_service_has(name: str) -> None:
    assert is_kept(SERVICE + config_map(TEXTS[name]))


@pytest.mark.parametrize(
    "text",
    [
        "kind: Service\nmetadata:\n  name: web-config\n---\nkind: ConfigMap\nname: other\n",
        "configMap: {name: other}\nhosts:\n- web-config\n",
        "# web-config\nkind: ConfigMap\nname: other\n",
        "url: http://web-config:8080\nconfigMap: other\n",
    ],
)
def test_the_name_of_a_service_near_the_kind_is_not_the_config_map(text: str) -> None:
    assert not is_kept(SERVICE + config_map(text))


def test_the_kind_next_to_a_name_counts() -> None:
    text = "kind: ConfigMap\nname: other\n---\nkind: Service\nname: web-config\n"
    assert not is_kept(config_map(text))


# A part of a value, in a field whose name has a word such as `config`.
PARTS = {
    "a key": widget("{config: 'web-config:app.yaml'}"),
    "a file": container(env=[{"name": "CONFIG", "value": "web-config/app.yaml"}]),
    "a list": widget("{configs: 'other, web-config'}"),
    "a short kind": container(args=["--config=cm:web-config"]),
    "a pair": container(args=["config=web-config,level=debug"]),
    "a key of a mapping": widget("{configurations: {web-config: {}}}"),
    "a key after a dot": container(args=["--configmap=web-config.app.yaml"]),
    "a key after a dot in a field": widget("{source: {configmap: web-config.a}}"),
    "a kind and a key after a dot": container(args=["--c=configmap:web-config.app.yaml"]),
    "a URL encoding": container(args=["--configmap=prod%2Fweb-config"]),
    "a URL encoding of a kind": container(env=[{"name": "X", "value": "configmap%3aweb-config"}]),
    "a line break in JSON": container(env=[{"name": "X", "value": r'{"cm": "a\nweb-config"}'}]),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_value_about_configuration_keeps_the_original(name: str) -> None:
    assert is_kept(PARTS[name])


# A part of a value, in a field that says nothing. Only the ConfigMap has the name.
VALUES = (
    *("web-config:app.yaml", "web-config#app.yaml", "web-config@prod", "^web-config$"),
    *("~web-config", "web-config?key=a", "web-config[a]", "a,web-config;b", "prod:web-config"),
)


@pytest.mark.parametrize("value", VALUES)
def test_a_part_of_a_value_without_blanks_keeps_the_original(value: str) -> None:
    for extra in (container(args=[f"--c={value}"]), widget(json.dumps({"source": value}))):
        assert is_kept(extra)
        assert not is_kept(SERVICE + extra)


@pytest.mark.parametrize(
    "extra",
    [
        container(env=[{"name": "CONFIG", "value": "/etc/web-config/app.yaml"}]),
        container(args=["--file=web-config.yaml", "--host=web-0.web-config.prod.svc"]),
        container(args=["--image=web-config:v1", "--format=100%"]),
        container(env=[{"name": "CONFIG_URL", "value": "http://web-config:8080"}]),
        container(env=[{"name": "GREETING", "value": "see web-config"}]),
        widget("{image: 'web-config:v1'}"),
        container(args=["web-config"]),  # the program, and its subcommand
        widget("{runner: {image: a, command: [web-config]}}"),
    ],
)
def test_paths_hosts_and_prose_are_no_names(extra: str) -> None:
    assert not is_kept(extra)


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_label_that_a_container_reads_is_a_name(quote: str) -> None:
    env = {"fieldRef": {"fieldPath": f"metadata.labels[{quote}settings{quote}]"}}
    text = container(env=[{"name": "NAME", "valueFrom": env}])
    labels = '{template: {"metadata": {"labels": {"settings": "web-config"}}, '
    text = text.replace("{template: {", labels)
    assert is_kept(text)
    assert not is_kept(text.replace("labels[", "annotations["))
