"""What a build is told of the machine's package index."""

from __future__ import annotations

import stat
import subprocess

from images.catalogue import ROOT
from images.index_settings import index_variables, machine_secrets, write_secrets

PIP = """
global.cert='/etc/ssl/own.pem'
global.index-url='https://secret@index.example/simple'
global.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'
:env:.default-timeout='180'
freeze.index-url='https://never.example'
"""


def test_a_machine_without_settings_gives_none(tmp_path):
    assert machine_secrets({"PATH": "/bin", "UV_CACHE_DIR": "/c"}, "", tmp_path) == {}


def test_settings_of_pip_reach_uv():
    found = index_variables({}, PIP)
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"]
    assert found["UV_DEFAULT_INDEX"] == "https://secret@index.example/simple"
    assert found["UV_INDEX"] == "https://a.example/simple https://b.example/simple"
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert found["PIP_DEFAULT_TIMEOUT"] == "180"
    assert "never.example" not in str(found)


def test_settings_of_uv_reach_pip_and_win_for_uv():
    environment = {
        "UV_DEFAULT_INDEX": "https://uv.example/simple",
        "UV_INDEX_OWN_PASSWORD": "word",
        "https_proxy": "http://proxy.example:3128",
        "EMPTY_PROXY": "x",
        "UV_PYTHON": "3.14",
    }
    found = index_variables(environment, "")
    assert found["PIP_INDEX_URL"] == "https://uv.example/simple"
    assert found["UV_INDEX_OWN_PASSWORD"] == "word"
    assert found["https_proxy"] == "http://proxy.example:3128"
    assert found.keys().isdisjoint({"UV_PYTHON", "EMPTY_PROXY"})
    assert index_variables(environment, PIP)["UV_DEFAULT_INDEX"] == "https://uv.example/simple"


def test_the_name_that_uv_gives_an_index_is_not_part_of_its_address():
    found = index_variables({"UV_DEFAULT_INDEX": "own=https://uv.example/simple"}, "")
    assert found["PIP_INDEX_URL"] == "https://uv.example/simple"


def test_the_environment_wins_over_pips_files():
    found = index_variables({"PIP_INDEX_URL": "https://env.example"}, PIP)
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == "https://env.example"


def test_folders_of_this_machine_are_left_out():
    links = {"PIP_FIND_LINKS": "/opt/wheels https://links.example/simple"}
    assert index_variables(links, "")["PIP_FIND_LINKS"] == "https://links.example/simple"
    assert index_variables({"PIP_FIND_LINKS": "/opt/wheels"}, "") == {}


def test_files_are_handed_over_as_they_are(tmp_path):
    (tmp_path / "ca.pem").write_text("certificates")
    (tmp_path / ".netrc").write_text("machine index.example")
    (tmp_path / ".config/uv").mkdir(parents=True)
    (tmp_path / ".config/uv/uv.toml").write_text("[[index]]")
    environment = {"SSL_CERT_FILE": str(tmp_path / "ca.pem"), "PIP_CERT": "/absent"}
    found = machine_secrets(environment, "", tmp_path)
    assert found == {
        "ca-bundle": "certificates",
        "netrc": "machine index.example",
        "uv-config": "[[index]]",
    }


def test_secrets_are_readable_for_their_owner_alone(tmp_path):
    [path] = write_secrets({"netrc": "word"}, tmp_path).values()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_shell_of_the_build_reads_back_what_was_written(tmp_path):
    value = "https://user:it's a $word`x`@index.example/simple"
    secrets = machine_secrets({"PIP_INDEX_URL": value}, "", tmp_path)
    script = (ROOT / "images/steps/indexed.sh").read_text()
    written = tmp_path / "package-index"
    written.write_text(secrets["package-index"])
    (tmp_path / "indexed.sh").write_text(script.replace("/run/secrets", str(tmp_path)))
    command = ["sh", str(tmp_path / "indexed.sh"), "printenv", "UV_DEFAULT_INDEX"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PATH": "/bin:/usr/bin"}
    )
    assert done.stdout == value + "\n"
