#!/usr/bin/env python3
"""Checks README.md, docs/ and examples/ against the built program: documents.py BINARY.

Every YAML file and snippet passes `check-config`; every client file parses, and the program accepts the arguments in it; every link
has its page and its heading; README's table of options is the program's own list; examples/full.yaml has every key, at its default.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.path.abspath(sys.argv[1])
# Settings of whoever runs this must not decide what is right.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_WATCHDOG_", "CONNECTION_"))}
ENVIRONMENT["HEALTH_TOKEN"] = "named in a page"
passed, failures = 0, []


def check(ok, what, why=""):
    global passed
    passed += bool(ok)
    if not ok:
        failures.append(what)
        print(f"FAIL {what}\n{why}".rstrip(), flush=True)


def run(*args):
    return subprocess.run([BINARY, *args], cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)


def check_yaml(what, path, but=None):
    """With no complaint, but of what a page only names."""
    done = run("check-config", str(path))
    check(done.returncode == 0 and not done.stderr or but and but in done.stderr, what, done.stdout + done.stderr)


def commands(value):
    """Every {command, args} of a client's file, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("command"), str):
            yield value["command"], value.get("args", [])
        for child in value.values():
            yield from commands(child)


def check_client(what, text, parse):
    try:
        entries = list(commands(parse(text)))
    except ValueError as error:
        check(False, what, str(error))
        return
    check(entries, what, "no entry with a command")
    for command, args in entries:
        if os.path.basename(command) == "mcp-watchdog":
            check_arguments(what, args)


def check_arguments(what, args):
    """The options are accepted: with a server that ends at the end of its stdin in place of the real one, the program ends with 0."""
    if args[:1] == ["mcp"]:
        # A server of its own, which ends with its stdin.
        done = run(*args)
        check(done.returncode == 0, f"{what}: its options", f"exit code {done.returncode}\n{done.stderr}")
        return
    if "--" not in args:
        check(False, what, "no `--` among the arguments")
        return
    done = run(*args[: args.index("--")], "--", "cat")
    check(done.returncode == 0, f"{what}: its options", f"exit code {done.returncode}\n{done.stderr}")


def explained(*args):
    """Every effective value by its key."""
    done = run("check-config", "--explain", *args)
    lines = (re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines() if line.startswith("  "))
    return {line[0]: line[1] for line in lines if len(line) >= 3}


def check_defaults():
    own = {"args", "command", "env", "control.listen", "listen", "tool_timeouts"}
    shown, builtin = explained("examples/full.yaml"), explained("examples/minimal.yaml")
    for key in sorted((set(shown) | set(builtin)) - own):
        check(shown.get(key) == builtin.get(key), f"examples/full.yaml: {key}", f"{shown.get(key)} there, {builtin.get(key)} built in")
    described = run("check-config", "--explain", "examples/full.yaml").stdout
    for key in sorted(set(builtin) - own):
        line = re.search(rf"^  {re.escape(key)} .*$", described, re.M)
        check(line and "full.yaml:" in line[0], f"examples/full.yaml: {key} is not in it")


def whole(snippet):
    """A file that holds what a page shows of one: a chain of probes, or some keys of a server."""
    if re.match(r"chain:", snippet):
        snippet = "probe:\n" + textwrap.indent(snippet, "  ")
    if not re.search(r"^(servers|defaults):", snippet, re.M):
        snippet = "servers:\n  a:\n    command: cat\n" + textwrap.indent(snippet, "    ")
    return snippet


def check_snippets(page):
    for number, (kind, text) in enumerate(re.findall(r"^```(json|toml|yaml)\n(.*?)^```$", page.read_text(), re.M | re.S), 1):
        what = f"{page.relative_to(ROOT)}: snippet {number} ({kind})"
        if kind == "yaml":
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "snippet.yaml")
                path.write_text(whole(text))
                check_yaml(what, path, "o such file")
        elif "command" in text:
            check_client(what, text, {"json": json.loads, "toml": tomllib.loads}[kind])


def headings(text):
    return re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def anchor(heading):
    """What a link to a heading is called by those who show the page."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def check_links(page, anchors):
    for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        there = (page.parent / target).resolve() if target else page
        known = there.exists() and (not heading or heading in anchors.get(there, ()))
        check(known, f"{page.relative_to(ROOT)}: a link to {target}{'#' + heading if heading else ''}, which is not there")


def check_options(readme):
    offered = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run("--help").stdout, re.M)) - {"--help", "--version"}
    described = set(re.findall(r"^\| `(--[a-z-]+)", readme, re.M))
    check(offered == described, "README.md: the table of options", f"only in --help: {offered - described}; only in README: {described - offered}")


def main():
    readme = (ROOT / "README.md").read_text()
    # The folders there are programs, which the tests build.
    for path in sorted(path for path in (ROOT / "examples").iterdir() if path.is_file()):
        what = f"examples/{path.name}"
        if path.suffix == ".yaml":
            check_yaml(what, path)
        else:
            check_client(what, path.read_text(), {".json": json.loads, ".toml": tomllib.loads}[path.suffix])
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").glob("*.md"))
    anchors = {page: set(map(anchor, headings(page.read_text()))) for page in pages}
    for page in pages:
        check_snippets(page)
        check_links(page, anchors)
    check_options(readme)
    check_defaults()
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


main()
