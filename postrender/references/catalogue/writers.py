"""Kinds that make a program write ConfigMaps and Secrets, with credentials or generated data.

The program writes the Secret that a field names, or the Secret with the name of the object. By
default, postrender does not rename this Secret, because the program would not write to a revision:

    kind: SealedSecret
    metadata: {name: web-login}        # writes the Secret web-login
    ---
    kind: VaultStaticSecret
    spec:
      destination: {name: web-login}
    ---
    kind: ObjectBucketClaim
    metadata: {name: web-files}        # writes the ConfigMap and the Secret web-files

Kinds with other references are in the modules for their fields of work, such as Certificate. The
entry EVERY_KIND is for fields that many kinds share:

    kind: RDSInstance
    spec:
      writeConnectionSecretToRef: {name: web-database, namespace: shop}
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET
from postrender.references.catalogue.model import (
    everything,
    has,
    key_selectors,
    kinds,
    object_reference,
    secret,
    selected_names,
    writes,
    written,
)
from postrender.yaml.paths import Json

_BOTH = (CONFIG_MAP, SECRET)
_TEMPLATE = "the program reads the object only to fill a template"
_ONE_NAME = "the field can select only one object"
_BOUND = "the program reads the object in its own namespace"


def _is_constraint(data: Mapping[str, Json]) -> bool:
    return str(data.get("apiVersion")).startswith("constraints.gatekeeper.sh/")


_VAULT = "Vault Secrets Operator"
_SECRETGEN = "carvel-dev/secretgen-controller e28a243"
_AIVEN = (
    "Clickhouse ClickhouseUser ConnectionPool Flink Grafana Kafka MySQL OpenSearch "
    "OrganizationProject PostgreSQL Project ServiceUser Valkey"
)

ENTRIES = (
    # Encrypted Secrets
    *kinds(
        "bitnami.com: SealedSecret",
        "bitnami-labs/sealed-secrets 86671a8, v1alpha1, sealedsecret_expansion.go",
        writes("Sealed Secrets", SECRET),
    ),
    *kinds(
        "isindir.github.com: SopsSecret",
        "isindir/sops-secrets-operator 2cfc1e0, v1alpha3",
        writes("sops-secrets-operator", SECRET, "spec.secretTemplates[].name"),
    ),
    # Stores of secrets
    *kinds(
        "secrets.hashicorp.com: VaultStaticSecret VaultDynamicSecret VaultPKISecret "
        "HCPVaultSecretsApp",
        "hashicorp/vault-secrets-operator 9b840a5, v1beta1",
        writes(_VAULT, SECRET, "spec.destination.name"),
    ),
    *kinds(
        "ricoberger.de: VaultSecret",
        "ricoberger/vault-secrets-operator da9e7e0, v1alpha1",
        writes("vault-secrets-operator", SECRET),
    ),
    *kinds(
        "redhatcop.redhat.io: VaultSecret",
        "redhat-cop/vault-config-operator 2060044, v1alpha1",
        writes("vault-config-operator", SECRET, "spec.output.name"),
    ),
    *kinds(
        "digitalis.io: ValsSecret",
        "digitalis-io/vals-operator fb7e43b, v1",
        writes("vals-operator", SECRET, "spec.name", or_own_name=True),
        secret("spec.databases[].loginCredentials.secretName"),
    ),
    *kinds(
        "digitalis.io: DbSecret",
        "digitalis-io/vals-operator fb7e43b, v1beta1",
        writes("vals-operator", SECRET, "spec.secretName", or_own_name=True),
    ),
    *kinds(
        "kubernetes-client.io: ExternalSecret",
        "external-secrets/kubernetes-external-secrets 4dbb6dd, v1",
        writes("kubernetes-external-secrets", SECRET),
    ),
    *kinds(
        "onepassword.com: OnePasswordItem",
        "1Password/onepassword-operator 9c3b1b9, v1, onepassworditem_controller.go",
        writes("the operator of 1Password", SECRET),
    ),
    *kinds(
        "secrets.infisical.com: InfisicalSecret",
        "Infisical/infisical 2af515c, v1alpha1",
        *(
            writes("Infisical", target, f"spec.{path}", namespace_key=key)
            for path, target, key in (
                ("managedSecretReference.secretName", SECRET, "secretNamespace"),
                ("managedKubeSecretReferences[].secretName", SECRET, "secretNamespace"),
                (
                    "managedKubeConfigMapReferences[].configMapName",
                    CONFIG_MAP,
                    "configMapNamespace",
                ),
            )
        ),
    ),
    *kinds(
        "secrets.infisical.com: InfisicalDynamicSecret",
        "Infisical/infisical 4552f0e, v1alpha1",
        writes(
            "Infisical",
            SECRET,
            "spec.managedSecretReference.secretName",
            namespace_key="secretNamespace",
        ),
    ),
    *kinds(
        "secrets.doppler.com: DopplerSecret",
        "DopplerHQ/kubernetes-operator bdec485, v1alpha1",
        writes("Doppler", SECRET, "spec.managedSecret.name", namespace_key="namespace"),
    ),
    *kinds(
        "k8s.bitwarden.com: BitwardenSecret",
        "bitwarden/sm-kubernetes 0ead171, v1",
        writes("the operator of Bitwarden", SECRET, "spec.secretName"),
        secret("spec.authToken.secretName"),
    ),
    *kinds(
        "secrets-store.csi.x-k8s.io: SecretProviderClass",
        "kubernetes-sigs/secrets-store-csi-driver 0aad886, v1",
        writes("the Secrets Store CSI driver", SECRET, "spec.secretObjects[].secretName"),
    ),
    *kinds(
        "spv.no: AzureKeyVaultSecret",
        "SparebankenVest/azure-key-vault-to-kubernetes 4d59110, v2beta1",
        writes("akv2k8s", SECRET, "spec.output.secret.name"),
        writes("akv2k8s", CONFIG_MAP, "spec.output.configMap.name"),
    ),
    *kinds(
        "azconfig.io: AzureAppConfigurationProvider",
        "Azure/AppConfiguration-KubernetesProvider d597883, v1",
        writes("Azure App Configuration", CONFIG_MAP, "spec.target.configMapName"),
        writes("Azure App Configuration", SECRET, "spec.secret.target.secretName"),
        secret("spec.connectionStringReference"),
    ),
    # Generated secrets, and certificates
    *kinds(
        "secretgen.k14s.io: Certificate Password RSAKey SSHKey",
        f"{_SECRETGEN}, v1alpha1",
        writes("secretgen-controller", SECRET),
    ),
    *kinds(
        "secretgen.carvel.dev: SecretImport SecretTemplate",
        f"{_SECRETGEN}, v1alpha1",
        writes("secretgen-controller", SECRET),
        everything("spec", _TEMPLATE),
    ),
    *kinds(
        "secretgen.carvel.dev: SecretExport",
        f"{_SECRETGEN}, v1alpha1",
        secret("metadata.name", "a SecretExport offers the Secret with its own name"),
    ),
    *kinds(
        "cert.gardener.cloud: Certificate",
        "gardener/cert-management e29a48e, v1alpha1",
        writes("cert-management", SECRET, "spec.secretName"),
        written(object_reference("spec.secretRef", SECRET, "cert-management writes to the Secret")),
    ),
    *kinds(
        "secretgenerator.mittwald.de: BasicAuth SSHKeyPair StringSecret",
        "mittwald/kubernetes-secret-generator 36f74dd, v1alpha1",
        writes("kubernetes-secret-generator", SECRET),
    ),
    *kinds(
        "secrets.mz.com: ConfigMapSecret",
        "machinezone/configmapsecrets 88df0b0, v1alpha1",
        writes("configmapsecrets", SECRET, "spec.template.metadata.name", or_own_name=True),
        everything("spec", _TEMPLATE),
    ),
    *kinds(
        "clustersecret.io: ClusterSecret",
        "zakkg3/ClusterSecret ff64c9e, v1",
        writes("ClusterSecret", SECRET),
        everything("data", _BOUND),
    ),
    *(
        entry
        for group, kind, version in (
            ("trust.cert-manager.io", "Bundle", "v1alpha1"),
            ("trust-manager.io", "ClusterBundle", "v1alpha2"),
        )
        for entry in kinds(
            f"{group}: {kind}",
            f"cert-manager/trust-manager fc1b53d, {version}",
            writes("trust-manager", CONFIG_MAP, only_if=has("spec.target.configMap")),
            writes("trust-manager", SECRET, only_if=has("spec.target.secret")),
            everything("spec", "trust-manager reads the object in the namespace of trust-manager"),
        )
    ),
    # Credentials of databases, queues and storage
    *kinds(
        "kafka.strimzi.io: KafkaUser",
        "strimzi/strimzi-kafka-operator 8541da1, v1 and v1beta2",
        writes("Strimzi", SECRET),
        key_selectors("spec"),
    ),
    *kinds(
        "access.strimzi.io: KafkaAccess",
        "strimzi/kafka-access-operator 8a05fab, v1alpha1",
        writes("the operator of KafkaAccess", SECRET, "spec.secretName", or_own_name=True),
    ),
    *kinds(
        "mongodbcommunity.mongodb.com: MongoDBCommunity",
        "mongodb/mongodb-kubernetes-operator f6a53c9, v1",
        writes("the operator of MongoDB", SECRET, "spec.users[].connectionStringSecretName"),
        writes(
            "the operator of MongoDB",
            SECRET,
            "spec.users[].scramCredentialsSecretName",
            suffix="-scram-credentials",
        ),
        secret("spec.users[].passwordSecretRef.name"),
    ),
    *(
        entry
        for group, kind, source, path in (
            ("pxc", "PerconaXtraDBCluster", "xtradb-cluster-operator b3b0b10", "secretsName"),
            ("psmdb", "PerconaServerMongoDB", "server-mongodb-operator b15af50", "secrets.users"),
            ("ps", "PerconaServerMySQL", "server-mysql-operator 9adfefa", "secretsName"),
        )
        # The operator adds the passwords that are missing in the Secret.
        for entry in kinds(
            f"{group}.percona.com: {kind}",
            f"percona/percona-{source}, v1 or v1alpha1",
            writes("the operator of Percona", SECRET, f"spec.{path}"),
        )
    ),
    *kinds(
        "k8s.mariadb.com: Connection",
        "mariadb-operator/mariadb-operator 8970edf, v1alpha1",
        writes("mariadb-operator", SECRET, "spec.secretName", or_own_name=True),
        secret("spec.passwordSecretKeyRef.name"),
    ),
    *kinds(
        "rabbitmq.com: User",
        "rabbitmq/messaging-topology-operator e736e2d, v1beta1",
        writes("the operator of RabbitMQ", SECRET, suffix="-user-credentials"),
        secret("spec.importCredentialsSecret.name"),
    ),
    *kinds(
        "db.movetokube.com: PostgresUser",
        "movetokube/postgres-operator d11ec07, v1alpha1",
        writes("postgres-operator", SECRET, "spec.secretName"),
    ),
    *kinds(
        "kinda.rocks: Database DbUser",
        "db-operator/db-operator cd3ff8a, v1beta2",
        *(writes("db-operator", target, "spec.secretName") for target in _BOTH),
    ),
    *kinds(
        f"aiven.io: {_AIVEN}",
        "aiven/aiven-operator f15ffef, v1alpha1",
        writes("the operator of Aiven", SECRET, "spec.connInfoSecretTarget.name", or_own_name=True),
        secret("spec.authSecretRef.name"),
    ),
    *kinds(
        "objectbucket.io: ObjectBucketClaim",
        "kube-object-storage/lib-bucket-provisioner 5164e37, v1alpha1, helpers.go",
        *(writes("the bucket provisioner", target) for target in _BOTH),
    ),
    *kinds(
        "objectstorage.k8s.io: BucketAccess",
        "kubernetes-sigs/container-object-storage-interface ee00c26, v1alpha1 and v1alpha2",
        writes("the bucket provisioner", SECRET, "spec.credentialsSecretName"),
        writes("the bucket provisioner", SECRET, "spec.accessSecretName"),
        writes("the bucket provisioner", SECRET, "spec.bucketClaims[].accessSecretName"),
    ),
    *kinds(
        "grafana.integreatly.org: GrafanaServiceAccount",
        "grafana/grafana-operator 60d3ebd, v1beta1",
        writes("the operator of Grafana", SECRET, "spec.tokens[].secretName"),
    ),
    # Outputs of clouds, Terraform and service brokers
    *kinds(
        "infra.contrib.fluxcd.io: Terraform",
        "flux-iac/tofu-controller 4cb9876, v1alpha2",
        writes("tofu-controller", SECRET, "spec.writeOutputsToSecret.name"),
        object_reference("spec.varsFrom[]"),
        secret("spec.backendConfigsFrom[].name"),
        secret("spec.cliConfigSecretRef.name"),
    ),
    *kinds(
        "tf.galleybytes.com: Terraform",
        "GalleyBytes/terraform-operator 8da1a61, v1beta1",
        writes("terraform-operator", SECRET, "spec.outputsSecret"),
    ),
    *(
        entry
        for kind, suffix in (("Workspace", "-outputs"), ("Module", "-module-outputs"))
        for entry in kinds(
            f"app.terraform.io: {kind}",
            "hashicorp/hcp-terraform-operator 6c975cb, v1alpha2",
            *(writes("HCP Terraform", target, suffix=suffix) for target in _BOTH),
            secret("spec.token.secretKeyRef.name"),
        )
    ),
    *kinds(
        "services.k8s.aws: FieldExport",
        "aws-controllers-k8s/runtime 95428e7, v1alpha1",
        written(object_reference("spec.to", keep="the controller of AWS writes to the object")),
    ),
    *kinds(
        "iam.cnrm.cloud.google.com: IAMServiceAccountKey",
        "GoogleCloudPlatform/k8s-config-connector 1fa54bf, v1beta1",
        writes("Config Connector", SECRET),
    ),
    *kinds(
        "cloudcredential.openshift.io: CredentialsRequest",
        "openshift/cloud-credential-operator 2650c85, v1",
        written(
            object_reference(
                "spec.secretRef", SECRET, "the operator for cloud credentials writes to the Secret"
            )
        ),
    ),
    *kinds(
        "services.cloud.sap.com: ServiceBinding",
        "SAP/sap-btp-service-operator 3af098f, v1",
        writes("the operator of SAP BTP", SECRET, "spec.secretName", or_own_name=True),
    ),
    *kinds(
        "servicecatalog.k8s.io: ServiceBinding",
        "kubernetes-retired/service-catalog b37daf5, v1beta1",
        writes("Service Catalog", SECRET, "spec.secretName", or_own_name=True),
    ),
    *kinds(
        "*: *",
        "crossplane/crossplane-runtime 4e7ed23, v1 and v2",
        written(
            object_reference(
                "spec.writeConnectionSecretToRef", SECRET, "Crossplane writes to the Secret"
            )
        ),
        writes("Crossplane", SECRET, "spec.publishConnectionDetailsTo.name"),
        # The constraints of Gatekeeper have a kind for each template.
        *(
            use._replace(only_if=_is_constraint)
            for use in selected_names("spec.match.name", "kinds", _ONE_NAME)
        ),
        *(
            writes("Azure Service Operator", target, f"spec.operatorSpec.{path}.name")
            for target, path in (
                (SECRET, "secrets.*"),
                (SECRET, "secretExpressions[]"),
                (CONFIG_MAP, "configMaps.*"),
                (CONFIG_MAP, "configMapExpressions[]"),
            )
        ),
    ),
)
