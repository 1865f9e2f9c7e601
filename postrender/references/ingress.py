"""What an Ingress names: TLS Secrets (networking.k8s.io/v1) and ingress-nginx's annotations.

The annotations hold a name or `namespace/name` (ingress-nginx 1.12, user guide, annotations).
"""

from __future__ import annotations

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET
from postrender.references.rule import Rule

_GROUP = "networking.k8s.io"
_NGINX = "nginx.ingress.kubernetes.io/"

_ANNOTATIONS = {
    "fastcgi-params-configmap": CONFIG_MAP,
    "auth-proxy-set-headers": CONFIG_MAP,
    "custom-headers": CONFIG_MAP,
    "auth-secret": SECRET,
    "auth-tls-secret": SECRET,
    "proxy-ssl-secret": SECRET,
    "secure-verify-ca-secret": SECRET,
}

RULES = (
    Rule(_GROUP, "Ingress", ("spec", "tls", "[]", "secretName"), SECRET),
    *(
        Rule(
            _GROUP,
            "Ingress",
            ("metadata", "annotations", _NGINX + annotation),
            target,
            is_qualified=True,
            triggers_rename=target == SECRET,
        )
        for annotation, target in _ANNOTATIONS.items()
    ),
)
