"""References of an Ingress: TLS Secrets (networking.k8s.io/v1) and ingress-nginx annotations.

In this example, the value of `secretName` and the value of the annotation are references:

    kind: Ingress
    metadata:
      annotations:
        nginx.ingress.kubernetes.io/auth-secret: shop/web-users
    spec:
      tls: [{secretName: web-tls}]

The value of each annotation is a name or `namespace/name` (user guide of ingress-nginx 1.12).
"""

from __future__ import annotations

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET
from postrender.references.rule import Rule

_GROUP = "networking.k8s.io"
_NGINX = "nginx.ingress.kubernetes.io/"

_ANNOTATIONS = {
    f"{_NGINX}fastcgi-params-configmap": CONFIG_MAP,
    f"{_NGINX}auth-proxy-set-headers": CONFIG_MAP,
    f"{_NGINX}custom-headers": CONFIG_MAP,
    f"{_NGINX}auth-secret": SECRET,
    f"{_NGINX}auth-tls-secret": SECRET,
    f"{_NGINX}proxy-ssl-secret": SECRET,
    f"{_NGINX}secure-verify-ca-secret": SECRET,
    # ingress-nginx used this prefix before 0.9, and other controllers still read this annotation.
    "ingress.kubernetes.io/auth-secret": SECRET,
}

INGRESS_RULES = (
    Rule(
        group=_GROUP,
        kind="Ingress",
        pattern=("spec", "tls", "[]", "secretName"),
        target=SECRET,
    ),
    *(
        Rule(
            group=_GROUP,
            kind="Ingress",
            pattern=("metadata", "annotations", annotation),
            target=target,
            is_qualified=True,
            triggers_rename=target == SECRET,
        )
        for annotation, target in _ANNOTATIONS.items()
    ),
)
