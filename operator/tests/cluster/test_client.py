"""The client against a real API server: rights, outages, kinds that come and go."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path

import pytest

from e2e.cluster import ControlPlane
from e2e.cluster.control_plane import Write
from ragbase_operator.cluster.client import KubernetesCluster
from ragbase_operator.cluster.config import load_configuration
from ragbase_operator.cluster.port import ClusterError, KindAbsentError, RefusedError
from ragbase_operator.cluster.transport import Limits, Transport
from ragbase_operator.models.manifest import Manifest, Ref

from ..eventually import eventually
from .conftest import RealTwin
from .widget import CRD, GROUP


def config_map(namespace: str, name: str = "one", value: str = "1") -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}}


@asynccontextmanager
async def client(
    server: ControlPlane, user: str = "admin", limits: Limits | None = None
) -> AsyncIterator[KubernetesCluster]:
    configuration = await load_configuration(server.kubeconfig(user))
    async with KubernetesCluster(Transport(configuration, limits)) as cluster:
        yield cluster


async def on_record(api_server: ControlPlane, namespace: str) -> list[Write]:
    """The operator's writes to the namespace (controllers write, too), once there are some: the
    audit log comes after the answer."""

    async def found() -> list[Write]:
        return [
            write
            for write in api_server.writes()
            if write.namespace == namespace and write.agent.startswith("ragbase-operator/")
        ]

    await eventually(found)
    return await found()


async def test_our_manager_and_agent_are_on_record(
    real: RealTwin, api_server: ControlPlane
) -> None:
    await real.cluster.apply(config_map(real.namespace))
    found = real.get(Ref("v1", "ConfigMap", real.namespace, "one"))
    assert found is not None
    managers = {(m["manager"], m["operation"]) for m in found["metadata"]["managedFields"]}
    assert managers == {("ragbase-operator", "Apply")}
    [write] = await on_record(api_server, real.namespace)
    assert (write.verb, write.code) == ("patch", 201)
    assert write.agent.startswith("ragbase-operator/")


async def test_reading_writes_nothing(real: RealTwin, api_server: ControlPlane) -> None:
    await real.cluster.apply(config_map(real.namespace))
    before = await on_record(api_server, real.namespace)
    await real.cluster.list("v1", "ConfigMap", real.namespace)
    after = await on_record(api_server, real.namespace)
    assert before == after


async def test_what_rights_do_not_allow_is_refused(
    api_server: ControlPlane, namespace: str
) -> None:
    async with client(api_server, "plain") as cluster:
        calls = (
            cluster.apply(config_map(namespace)),
            cluster.list("v1", "ConfigMap", namespace),
            cluster.delete(Ref("v1", "ConfigMap", namespace, "one")),
        )
        for call in calls:
            with pytest.raises(RefusedError, match="cannot") as refused:
                await call
            assert refused.value.reason == "Forbidden"


async def test_what_the_schema_does_not_allow_is_refused(real: RealTwin) -> None:
    too_big = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": real.namespace},
        "spec": {"size": 101},
    }
    with pytest.raises(RefusedError, match="less than or equal to 100") as refused:
        await real.cluster.apply(too_big)
    assert refused.value.reason == "Invalid"


async def test_an_absent_namespace_is_told(api_server: ControlPlane) -> None:
    async with client(api_server) as cluster:
        with pytest.raises(RefusedError, match="nowhere") as refused:
            await cluster.apply(config_map("nowhere"))
    assert refused.value.reason == "NotFound"


async def test_a_namespace_that_ends_is_told(controllers: ControlPlane) -> None:
    namespace = controllers.create_namespace()
    held = config_map(namespace)
    held["metadata"]["finalizers"] = ["ragbase.dev/retention"]
    async with client(controllers) as cluster:
        await cluster.apply(held)
        controllers.delete_namespace(namespace)
        with pytest.raises(RefusedError) as refused:
            await cluster.apply(config_map(namespace, "two"))
        assert refused.value.reason == "NamespaceTerminating"
        await cluster.apply(config_map(namespace))


async def test_a_kind_is_found_when_its_crd_comes_and_missed_when_it_goes(
    api_server: ControlPlane, namespace: str
) -> None:
    crd = deepcopy(CRD)
    crd["metadata"]["name"] = f"gadgets.{GROUP}"
    crd["spec"]["names"] = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    crd["spec"]["versions"][0]["name"] = version = "v2"
    gadget = Ref(f"{GROUP}/{version}", "Gadget", namespace, "one")

    async with client(api_server) as cluster:

        async def known() -> bool:
            try:
                await cluster.list(gadget.api_version, gadget.kind, namespace)
            except KindAbsentError:
                return False
            return True

        async def unknown() -> bool:
            return not await known()

        assert not await known()
        await cluster.apply(crd)
        await eventually(known)
        await cluster.delete(
            Ref("apiextensions.k8s.io/v1", crd["kind"], "", crd["metadata"]["name"])
        )
        await eventually(unknown)


async def test_a_restart_of_the_api_server_is_survived(
    api_server: ControlPlane, namespace: str
) -> None:
    async with client(api_server) as cluster:
        await cluster.apply(config_map(namespace))
        api_server.stop_api_server()
        try:
            late = asyncio.create_task(cluster.apply(config_map(namespace, value="2")))
            with pytest.raises(ClusterError):
                await late
        finally:
            await asyncio.to_thread(api_server.start_api_server)
        assert (await cluster.apply(config_map(namespace, value="3")))["data"] == {"a": "3"}


async def test_a_connection_that_is_cut_silently_is_given_up(
    api_server: ControlPlane, namespace: str
) -> None:
    limits = Limits(total=3.0, connect=1.0, read=1.0)
    async with client(api_server, limits=limits) as cluster:
        await cluster.apply(config_map(namespace))
        api_server.freeze()
        begun = time.monotonic()
        try:
            with pytest.raises(ClusterError):
                await cluster.apply(config_map(namespace, value="2"))
            assert time.monotonic() - begun < 5
        finally:
            api_server.thaw()
        assert (await cluster.apply(config_map(namespace, value="3")))["data"] == {"a": "3"}


async def test_lists_longer_than_a_page_come_whole(real: RealTwin) -> None:
    names = {f"n{number:04}" for number in range(520)}
    gate = asyncio.Semaphore(20)

    async def make(name: str) -> None:
        async with gate:
            await real.cluster.apply(config_map(real.namespace, name))

    await asyncio.gather(*(make(name) for name in names))
    found = await real.cluster.list("v1", "ConfigMap", real.namespace)
    assert {each["metadata"]["name"] for each in found} - {"kube-root-ca.crt"} == names


def resident_kib() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])


async def test_memory_does_not_grow_with_requests(real: RealTwin) -> None:
    """Clients of Kubernetes that kept something of each patch are on record; RSS in KiB."""

    async def many() -> int:
        for number in range(300):
            await real.cluster.apply(config_map(real.namespace, f"n{number % 30}", str(number)))
        await real.cluster.list("v1", "ConfigMap", real.namespace)
        gc.collect()
        return resident_kib()

    warm = await many()
    assert await many() - warm < 4096
