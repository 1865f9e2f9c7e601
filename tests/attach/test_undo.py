"""`postrender adopt --undo`: the way back, in a cluster in memory."""

from __future__ import annotations

import pytest

from postrender.attach.adopt import undo
from postrender.errors import UserError
from postrender.kubernetes.annotations import keep_annotations
from tests.attach.cluster import GROUP, Cluster, Json, obj, owner_of, workload
from tests.attach.test_collect import StepCluster, after_a_kill
from tests.attach.test_run import DEPLOYMENT, NEW, NEW_KEY, OLD, OLD_KEY, OLD_NAME, OLD_SET

# The Deployment of a release without postrender, and its ReplicaSet.
PLAIN = workload("Deployment/app", "", "app")
PLAIN_SET = workload("ReplicaSet/app-3", "", "app", owner="Deployment/app")


def original(**annotations: str) -> Json:
    """Return an adopted original, with an owner of attach and one of another program."""
    return obj(
        "ConfigMap",
        "app",
        metadata={
            "labels": {"postrender/attach-group": GROUP, "own": "label"},
            "annotations": {
                **keep_annotations(),
                "postrender/unused-since": "2026-11-21T11:00:00Z",
                "postrender/prune": "false",
                "postrender/sweep": "false",
                "own": "annotation",
                **annotations,
            },
            "ownerReferences": [
                owner_of("Deployment/app"),
                {**owner_of("Deployment/x"), "controller": True},
            ],
        },
    )


def run(cluster: Cluster, *, is_dry: bool = False) -> list[str]:
    with cluster.clock():
        return undo(cluster.client(), GROUP, is_dry=is_dry)


def test_an_original_is_as_it_was() -> None:
    cluster = Cluster(PLAIN, PLAIN_SET, original())
    assert run(cluster) == ["adopt gives back ConfigMap/app"]
    metadata = cluster.objects["ConfigMap/app"]["metadata"]
    assert metadata["labels"] == {"own": "label"}
    assert metadata["annotations"] == {"own": "annotation"}
    assert [owner["name"] for owner in metadata["ownerReferences"]] == ["x"]


def test_other_options_of_argo_cd_stay() -> None:
    options = {"argocd.argoproj.io/sync-options": "Replace=true,Prune=false"}
    cluster = Cluster(PLAIN, original(**options))
    run(cluster)
    annotations = cluster.objects["ConfigMap/app"]["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/sync-options"] == "Replace=true"


def test_unused_revisions_are_deleted_and_used_ones_stay() -> None:
    cluster = Cluster(PLAIN, PLAIN_SET, OLD_SET, NEW, OLD)
    lines = [
        f"adopt deletes {NEW_KEY}",
        f"adopt keeps {OLD_KEY}, because ReplicaSet/app-1 uses the revision",
    ]
    dry = [lines[0].replace("deletes", "would delete"), lines[1]]
    assert sorted(run(cluster, is_dry=True)) == sorted(dry)
    assert not cluster.writes
    assert sorted(run(cluster)) == sorted(lines)
    assert cluster.names("ConfigMap") == [OLD_NAME]


def test_secrets_of_the_release_are_given_back_and_deleted() -> None:
    labels = {"postrender/attach-group": GROUP}
    annotations = {"postrender/base-name": "app"}
    revision = obj(
        "Secret", "app-0123456789", metadata={"labels": labels, "annotations": annotations}
    )
    cluster = Cluster(PLAIN, original(), {**original(), "kind": "Secret"}, revision)
    assert sorted(run(cluster)) == [
        "adopt deletes Secret/app-0123456789",
        "adopt gives back ConfigMap/app",
        "adopt gives back Secret/app",
    ]


def test_a_release_that_still_uses_revisions_is_refused() -> None:
    cluster = Cluster(DEPLOYMENT, NEW, OLD, original())
    with pytest.raises(UserError, match=f"Deployment/app uses {NEW_KEY}, so the release still"):
        run(cluster)
    assert not cluster.writes


def test_undo_can_be_killed_after_every_request() -> None:
    world = (PLAIN, PLAIN_SET, OLD_SET, NEW, OLD, original())
    whole = StepCluster(*world)
    run(whole)
    for number in range(1, whole.count + 1):
        cluster = after_a_kill(world, number, run)
        run(cluster)
        assert cluster.objects.keys() == whole.objects.keys()
        for key in ("labels", "annotations", "ownerReferences"):
            metadata = (item.objects["ConfigMap/app"]["metadata"] for item in (cluster, whole))
            assert len({str(data.get(key)) for data in metadata}) == 1


def test_an_edited_revision_stays() -> None:
    cluster = Cluster(PLAIN, {**NEW, "data": {"key": "edited"}})
    assert run(cluster) == [
        f"adopt keeps {NEW_KEY}, because the content does not match the hash in the name"
    ]


@pytest.mark.parametrize("annotation", ["postrender/prune", "postrender/sweep"])
def test_a_revision_that_must_not_be_deleted_stays(annotation: str) -> None:
    metadata = {**NEW["metadata"], "annotations": {"postrender/base-name": "app"}}
    metadata["annotations"][annotation] = "false"
    cluster = Cluster(PLAIN, {**NEW, "metadata": metadata})
    assert run(cluster) == [
        f"adopt keeps {NEW_KEY}, because the annotation {annotation} is "
        '"false". Delete the revision by hand when nothing needs it'
    ]


def test_an_unknown_group_is_an_error() -> None:
    with pytest.raises(UserError, match="has no ConfigMap or Secret in the namespace prod"):
        run(Cluster(PLAIN))


def test_without_a_list_of_consumers_nothing_changes() -> None:
    cluster = Cluster(PLAIN, NEW, original())
    cluster.refused["list", "ReplicaSet"] = 403
    with pytest.raises(UserError, match="postrender cannot list replicasets"):
        run(cluster)
    assert not cluster.writes


def test_secrets_that_a_user_may_not_list_are_left_out_with_a_notice() -> None:
    cluster = Cluster(PLAIN, original())
    cluster.refused["list", "Secret"] = 403
    assert run(cluster) == [
        "adopt gives back ConfigMap/app",
        "adopt leaves out revisions of Secrets, because postrender cannot list secrets (HTTP "
        "status 403)",
    ]


def test_an_original_without_its_label_loses_the_owners_of_attach() -> None:
    """`kubectl apply` of the manifests without postrender removes the label."""
    account = owner_of(f"ServiceAccount/{GROUP}")
    plain = obj("ConfigMap", "app", metadata={"ownerReferences": [account]})
    other = obj("ConfigMap", "other", metadata={"ownerReferences": [owner_of("ServiceAccount/x")]})
    for data, manager in ((plain, "postrender-attach"), (other, "postrender-attach")):
        [owner] = data["metadata"]["ownerReferences"]
        field: Json = {"f:metadata": {"f:ownerReferences": {f'k:{{"uid":"{owner["uid"]}"}}': {}}}}
        data["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": field}]
    cluster = Cluster(PLAIN, plain, other)
    assert run(cluster) == ["adopt gives back ConfigMap/app"]
    assert not cluster.owners("ConfigMap/app")
    assert cluster.owners("ConfigMap/other")
