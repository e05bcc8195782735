#!/usr/bin/env python3
"""Checks examples/container and examples/kubernetes against the schemas of those who read them: manifests.py BINARY.

Needs what .ci/run installs: kubernetes-validate, compose-spec, cloudcoil-models-prometheus-operator. Each of them must also refuse a
manifest with a key too many, or it would not be worth asking.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import compose_spec
import kubernetes_validate
import yaml
from cloudcoil.models.prometheus_operator.v1 import PodMonitor

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
BINARY = os.path.abspath(sys.argv[1])
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_WATCHDOG_", "CONNECTION_"))}
# `restartPolicy` of an init container is in force without a feature gate from here on.
OLDEST, NEWEST = "1.29", kubernetes_validate.latest_version()


def kubernetes(manifest):
    if manifest["apiVersion"].startswith("monitoring.coreos.com/"):
        known = PodMonitor.model_validate(manifest).model_dump(by_alias=True, exclude_unset=True, mode="json")
        assert known == manifest, f"only these keys are known: {known}"
        return
    for version in (OLDEST, NEWEST):
        kubernetes_validate.validate(manifest, version, strict=True)


def refused(what, check, value):
    try:
        check(value)
    except Exception:
        return
    raise AssertionError(f"{what}: a key too many is not noticed")


def accepted(*args):
    done = subprocess.run([BINARY, *args], env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, f"{args}: {done.stdout}{done.stderr}"


def configuration(text):
    """A file of ours inside a ConfigMap."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "config.yaml")
        path.write_text(text)
        accepted("check-config", str(path))


def served(manifests):
    """The client's file names the socket of a server that the sidecar has, in the folder that it is told."""
    data = next(manifest["data"] for manifest in manifests if manifest["kind"] == "ConfigMap")
    servers = yaml.safe_load(data["config.yaml"])["servers"]
    pod = next(manifest for manifest in manifests if manifest["kind"] == "Deployment")["spec"]["template"]["spec"]
    folder = next(entry["value"] for entry in pod["initContainers"][0]["env"] if entry["name"] == "MCP_WATCHDOG_RUNTIME_DIR")
    for name, entry in json.loads(data["mcp.json"])["mcpServers"].items():
        assert entry["args"] == ["connect", f"{folder}/servers/{name}.sock"], entry
        assert name in servers, f"{name} is not a server of the sidecar"


def main():
    for path in sorted((EXAMPLES / "kubernetes").glob("*.yaml")):
        manifests = list(yaml.safe_load_all(path.read_text()))
        for manifest in manifests:
            kubernetes(manifest)
            spec = copy.deepcopy(manifest)
            spec["matadata"] = {}
            refused(path.name, kubernetes, spec)
            if manifest["kind"] == "ConfigMap":
                configuration(manifest["data"]["config.yaml"])
                served(manifests)
        print(f"ok {path.relative_to(EXAMPLES)}: {', '.join(manifest['kind'] for manifest in manifests)}")
    compose = EXAMPLES / "container" / "compose.yaml"
    text = compose.read_text()
    compose_spec.PyCompose.from_yaml(text).validate()
    refused(compose.name, compose_spec.PyCompose.from_yaml, text.replace("stdin_open", "stdin_opened"))
    print(f"ok {compose.relative_to(EXAMPLES)}")
    accepted("check-config", str(EXAMPLES / "container" / "servers.yaml"))


main()
