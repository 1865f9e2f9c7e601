"""Real nodes: containerd, runc, a bridge for Pods, kube-proxy and the kubelet.

Each node is a tree of processes in namespaces of its own, and a cable (veth) connects the node to
this machine. The API server listens on the machine's end of the first cable.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import NamedTuple

from tests.e2e.api import Json
from tests.e2e.cluster import Cluster, ControlPlane, kubeconfig
from tests.e2e.node.machine import create_cgroup, plugins_folder
from tests.e2e.programs import program

HERE = Path(__file__).resolve().parent
SOCKET = "/run/containerd/containerd.sock"
PAUSE = "localhost/pause:1"
PROXY = "kube-proxy"
# The time limit of one command, such as the import of an image.
LIMIT_SECONDS = 300
# Networks of the nodes: the first of these that this machine does not use. Each node gets two /24.
NETWORKS = [IPv4Network(f"10.{number}.0.0/20") for number in range(201, 250)]


class Node(NamedTuple):
    """The name, the networks and the folder of a node.

    label: unique on this machine; names the cable and the cgroup
    """

    name: str
    label: str
    folder: Path
    network: IPv4Network
    pods: IPv4Network
    token: str

    @property
    def gateway(self) -> str:
        """The address of this machine's end of the cable."""
        return str(self.network[1])

    @property
    def address(self) -> str:
        """The address of the node."""
        return str(self.network[2])


class RealNodes(NamedTuple):
    """A running cluster with real nodes, as plain data.

    label: the beginning of the label of every node
    """

    plane: ControlPlane
    label: str


class NodeCluster(Cluster):
    """A control plane with real nodes; `archives` are the images that every node has."""

    def __init__(self, folder: Path, archives: Sequence[Path], count: int = 1) -> None:
        self.label = f"pr{secrets.token_hex(3)}"
        network = _unused_network()
        halves = list(network.subnets(new_prefix=24))
        self.nodes = [
            Node(
                name=f"node-{number + 1}",
                label=f"{self.label}-{number + 1}",
                folder=folder / f"node-{number + 1}",
                network=halves[2 * number],
                pods=halves[2 * number + 1],
                token=secrets.token_hex(16),
            )
            for number in range(count)
        ]
        self._archives = archives
        self._proxy_token = secrets.token_hex(16)
        super().__init__(folder, self.nodes[0].gateway)
        self._tidy: list[subprocess.Popen[bytes]] = []

    # The control plane

    def _tokens(self) -> str:
        nodes = (
            f"{node.token},system:node:{node.name},kubelet,system:nodes" for node in self.nodes
        )
        return "\n".join(
            [super()._tokens(), *nodes, f"{self._proxy_token},system:{PROXY},{PROXY}", ""]
        )

    def _node_flags(self) -> list[str]:
        plugins = "NodeRestriction,OwnerReferencesPermissionEnforcement"
        return [
            f"--advertise-address={self.nodes[0].gateway}",
            "--authorization-mode=Node,RBAC",
            f"--enable-admission-plugins={plugins}",
            "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
        ]

    def _controllers(self) -> str:
        return "*"

    def _start_all(self) -> None:
        for node in self.nodes:
            self._connect(node)
        with ThreadPoolExecutor() as pool:
            prepared = [pool.submit(self._import_images, node) for node in self.nodes]
            super()._start_all()
            for future in prepared:
                future.result()
        access = self.plane.kubeconfig
        flags = [f"--{use}kubeconfig={access}" for use in ("", "authentication-", "authorization-")]
        scheduler = [program("kubernetes"), "scheduler", *flags]
        self._processes.start("scheduler", [*scheduler, "--leader-elect=false", "--secure-port=0"])
        for node in self.nodes:
            self._start_kubelet(node)
        for node in self.nodes:
            self._processes.wait(f"{node.name}-kubelet", partial(self._is_ready_node, node))

    def stop(self) -> None:
        """End every process, and with the first process of a node all of its containers."""
        super().stop()
        for process in self._tidy:
            assert process.stdin
            process.stdin.close()
        for process in self._tidy:
            process.wait()

    # A node

    def inner_pid(self, node: Node) -> int:
        """Return the process id, on this machine, of a node's process 1."""
        outer = self._processes.pid(node.name)
        children = Path(f"/proc/{outer}/task/{outer}/children")
        self._processes.wait(node.name, lambda: bool(children.read_text()))
        return int(children.read_text().split()[0])

    def _enter(self, node: Node) -> list[str]:
        target = str(self.inner_pid(node))
        return ["nsenter", "--target", target, "--mount", "--net", "--pid", "--"]

    def _connect(self, node: Node) -> None:
        """Create the namespaces and the cgroup of a node, and the cable to it."""
        self._write_files(node)
        self._tidy.append(
            # This process outlives us, even if we are killed.
            subprocess.Popen(
                [str(HERE / "tidy"), node.label, str(node.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        create_cgroup(node.label)
        namespaces = ["--net", "--mount", "--pid", "--mount-proc", "--propagation=private"]
        inside = [HERE / "inside", node.folder, node.address, node.gateway]
        self._processes.start(
            node.name, ["unshare", *namespaces, "--fork", "--kill-child", *map(str, inside)]
        )
        inner = str(self.inner_pid(node))
        peer = ["peer", "name", "cable", "netns", inner]
        _run(["ip", "link", "add", node.label, "type", "veth", *peer])
        _run(["ip", "address", "add", f"{node.gateway}/30", "dev", node.label])
        _run(["ip", "link", "set", node.label, "up"])
        _run(["ip", "route", "add", str(node.pods), "via", node.address])

    def _import_images(self, node: Node) -> None:
        """Wait for containerd, which process 1 starts, and import the images."""
        ctr = [*self._enter(node), "ctr", "--namespace", "k8s.io"]

        def answers() -> bool:
            version = [*ctr, "--connect-timeout=5s", "--timeout=5s", "version"]
            return subprocess.run(version, capture_output=True).returncode == 0

        self._processes.wait(node.name, answers)
        for archive in self._archives:
            _run([*ctr, "images", "import", str(archive)])

    def _start_kubelet(self, node: Node) -> None:
        kubernetes, folder = program("kubernetes"), node.folder
        flags = [
            f"--config={folder / 'kubelet.json'}",
            f"--kubeconfig={folder / 'kubelet.kubeconfig'}",
        ]
        flags += [f"--hostname-override={node.name}", f"--node-ip={node.address}"]
        enter = self._enter(node)
        self._processes.start(f"{node.name}-kubelet", [*enter, kubernetes, "kubelet", *flags])
        proxy = [kubernetes, "proxy", f"--config={folder / 'proxy.json'}"]
        self._processes.start(f"{node.name}-proxy", [*enter, *proxy])

    def _is_ready_node(self, node: Node) -> bool:
        status = self.plane.api().get("Node", node.name)["status"]
        return any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in status.get("conditions", [])
        )

    def _write_files(self, node: Node) -> None:
        folder = node.folder
        (folder / "cni").mkdir(parents=True)
        url, ca = self.plane.url, self.plane.ca
        files = {
            "containerd.toml": containerd_configuration(folder),
            "cni/pods.conflist": json.dumps(network_configuration(node)),
            "kubelet.kubeconfig": kubeconfig(url, node.token, ca),
            "proxy.kubeconfig": kubeconfig(url, self._proxy_token, ca),
            "kubelet.json": json.dumps(kubelet_configuration(node)),
            "proxy.json": json.dumps(proxy_configuration(node)),
        }
        for name, text in files.items():
            (folder / name).write_text(text)


# Configuration


def containerd_configuration(folder: Path) -> str:
    """Return the configuration of containerd."""
    unused = ["btrfs", "devmapper", "zfs", "aufs"]
    disabled = [f"io.containerd.snapshotter.v1.{name}" for name in unused]
    disabled.append("io.containerd.internal.v1.opt")
    return f"""
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = {json.dumps(disabled)}
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE, root may not lower the score by which the kernel ends processes.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins_folder()}"
    conf_dir = "{folder / "cni"}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def network_configuration(node: Node) -> Json:
    """Return the CNI configuration: a bridge on the node."""
    ranges = [[{"subnet": str(node.pods)}]]
    addresses = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{**bridge, "ipam": addresses}]}


def kubelet_configuration(node: Node) -> Json:
    """Return the configuration of the kubelet."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.label}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        # Only this machine reaches the node.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        # Nothing answers at this address. Without an address, each Pod gets a warning.
        "clusterDNS": ["10.0.0.10"],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "syncFrequency": "10s",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
    }


def proxy_configuration(node: Node) -> Json:
    """Return the configuration of kube-proxy."""
    untouched = {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s"}
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(node.folder / "proxy.kubeconfig")},
        "mode": "iptables",
        "clusterCIDR": str(node.pods),
        "hostnameOverride": node.name,
        "oomScoreAdj": 0,
        # A namespace may not change the limits of the kernel.
        "conntrack": {**untouched, "tcpCloseWaitTimeout": "0s"},
    }


# The machine


def _unused_network() -> IPv4Network:
    """Return a network without an address or a route of this machine."""
    routes = json.loads(_run(["ip", "-json", "-4", "route", "show", "table", "all"]))
    used = [
        IPv4Network(route["dst"], strict=False)
        for route in routes
        if route["dst"][0].isdigit() and route["dst"] != "0.0.0.0/0"
    ]
    free = [network for network in NETWORKS if not any(map(network.overlaps, used))]
    # Two runs that start at the same time rarely choose the same network.
    return secrets.choice(free)


def _run(command: Iterable[str]) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout
