"""Where the control plane's programs are looked for, and what is believed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.cluster import UnavailableError, binaries, build, download, find_binaries
from e2e.cluster.version import ETCD, KUBERNETES, MODULE

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")


def put(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no internet, no Go, no etcd that is installed."""

    def unreachable(url: str) -> bytes:
        raise OSError(f"no way to {url}")

    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(binaries, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(download, "fetch", unreachable)
    return tmp_path / "cache"


def test_given_assets_come_first_and_may_lack_the_controllers(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, *PROGRAMS)
    given = put(tmp_path / "given", "etcd", "kube-apiserver")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    found = find_binaries()
    assert (found.etcd.parent, found.controller_manager) == (given, None)


def test_the_cache_serves_where_it_is_whole(cache: Path) -> None:
    put(cache, *PROGRAMS)
    found = find_binaries()
    assert {found.etcd.parent, found.apiserver.parent} == {cache}
    assert found.controller_manager == cache / "kube-controller-manager"


def test_what_was_tried_is_told(cache: Path) -> None:
    put(cache, "etcd", "kube-apiserver")
    with pytest.raises(UnavailableError, match=r"download: no way to .*; build: no Go compiler"):
        find_binaries()


def published(programs: dict[str, bytes], sums: dict[str, str]) -> Callable[[str], bytes]:
    def fetch(url: str) -> bytes:
        name = url.rpartition("/")[2]
        if name.endswith(".sha256"):
            return sums[name.removesuffix(".sha256")].encode()
        return programs[name]

    return fetch


def test_downloads_are_believed_by_their_checksum(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, "etcd")
    programs = {name: name.encode() for name in PROGRAMS}
    sums = {name: hashlib.sha256(body).hexdigest() for name, body in programs.items()}
    monkeypatch.setattr(download, "fetch", published(programs, sums))
    download.download(cache)
    assert (cache / "kube-apiserver").read_bytes() == b"kube-apiserver"
    assert (cache / "kube-apiserver").stat().st_mode & 0o111
    (cache / "kube-apiserver").unlink()
    spoilt = {**programs, "kube-apiserver": b"another"}
    monkeypatch.setattr(download, "fetch", published(spoilt, sums))
    with pytest.raises(RuntimeError, match=r"checksum of .*kube-apiserver differs"):
        download.download(cache)
    assert not (cache / "kube-apiserver").exists()


def test_a_failed_build_tells_its_last_words_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = put(tmp_path / "go", "go") / "go"
    go.write_text("#!/bin/sh\necho 'no space left'\nexit 1\n")
    monkeypatch.setenv("PATH", str(go.parent))
    with pytest.raises(RuntimeError, match="no space left"):
        build.build(cache)
    assert list(cache.iterdir()) == []


def test_the_module_pins_the_versions_that_are_named() -> None:
    pinned = (MODULE / "go.mod").read_text(encoding="utf-8")
    assert f"k8s.io/kubernetes {KUBERNETES} " in pinned
    assert f"go.etcd.io/etcd/server/v3 {ETCD}" in pinned
