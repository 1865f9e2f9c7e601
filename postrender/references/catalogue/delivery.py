"""Kinds of OpenShift: DeploymentConfig, BuildConfig and Route.

If another workload causes a rename, postrender also rewrites the references in the pod template of
a DeploymentConfig:

    kind: DeploymentConfig
    spec:
      template:
        spec:
          volumes: [{name: config, configMap: {name: web-config}}]
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.references.catalogue.model import (
    Entry,
    config_map,
    environment,
    pod_spec,
    rolling,
    secret,
    volume,
)
from postrender.yaml.paths import Json, value_at

_ROUTE = "a Role permits the router to read only the Secret with this name"
_PULL = "a ServiceAccount lists the names of the Secrets that builds may use"
_BUILD = "spec.strategy"
_STRATEGIES = ("dockerStrategy", "sourceStrategy", "customStrategy", "jenkinsPipelineStrategy")
_HOOKS = tuple(
    f"spec.strategy.{parameters}.{hook}.execNewPod"
    for parameters in ("recreateParams", "rollingParams")
    for hook in ("pre", "mid", "post")
)


def _has_config_trigger(data: Mapping[str, Json]) -> bool:
    """Return whether a changed template starts a deployment. data: a DeploymentConfig.

    Returns True for a DeploymentConfig without `spec.triggers`.
    """
    triggers = value_at(data, ("spec", "triggers"))
    if not isinstance(triggers, list):
        return True
    return any(value_at(trigger, ("type",)) == "ConfigChange" for trigger in triggers)


ENTRIES = (
    Entry(
        group="apps.openshift.io",
        kind="DeploymentConfig",
        source="openshift/api 2a3d739, v1",
        uses=(
            pod_spec("spec.template.spec"),
            environment("spec.strategy.customParams.environment[]"),
            *(environment(f"{hook}.env[]") for hook in _HOOKS),
        ),
        template=rolling("spec.template", _has_config_trigger),
    ),
    Entry(
        group="build.openshift.io",
        kind="BuildConfig",
        source="openshift/api 2a3d739, v1",
        uses=(
            config_map("spec.source.configMaps[].configMap.name"),
            secret("spec.source.secrets[].secret.name"),
            *(environment(f"{_BUILD}.{strategy}.env[]") for strategy in _STRATEGIES),
            environment(f"{_BUILD}.dockerStrategy.buildArgs[]"),
            *(volume(f"{_BUILD}.{strategy}.volumes[].source") for strategy in _STRATEGIES[:2]),
            secret(f"{_BUILD}.customStrategy.secrets[].secretSource.name"),
            *(
                secret(f"{_BUILD}.{strategy}.pullSecret.name", _PULL)
                for strategy in _STRATEGIES[:3]
            ),
            secret("spec.source.sourceSecret.name", _PULL),
            secret("spec.source.images[].pullSecret.name", _PULL),
            secret("spec.output.pushSecret.name", _PULL),
        ),
    ),
    Entry(
        group="route.openshift.io",
        kind="Route",
        source="openshift/api 2a3d739, v1",
        uses=(secret("spec.tls.externalCertificate.name", _ROUTE),),
    ),
)
