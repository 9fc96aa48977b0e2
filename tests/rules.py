#!/usr/bin/env python3
"""Takes the rules of the rewrites out of the code, one at a time, and expects the test that guards it to fail.

usage: rules.py [--build DIR] [--list RULES] [PATTERN...]

RULES (tests/rules.txt) has records parted by empty lines: what the rule says; the file; lines to take out ("- "), lines
in their place ("+ "); the tests that must fail. PATTERN: only rules whose first line holds it. The tree itself is not
touched: a copy is built and run.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_rules(path):
    rules = []
    for block in path.read_text().split("\n\n"):
        lines = [x for x in block.splitlines() if x and not x.startswith("#")]
        if not lines:
            continue
        old = "\n".join(x[2:] for x in lines if x.startswith("- "))
        new = "\n".join(x[2:] for x in lines if x.startswith("+ "))
        plain = [x for x in lines if x[:2] not in ("- ", "+ ")]
        rules.append({"says": plain[0], "file": plain[1], "old": old, "new": new, "tests": plain[2].split()})
    return rules


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, ETINSPECT=".build/etinspect"))


def failures(out):
    return [x.split(" - ")[-1] for x in out.splitlines() if x.startswith("not ok")]


def try_rule(rule, tree):
    """Which checks failed without the rule; an error text where that cannot be told."""
    path = tree / rule["file"]
    text = path.read_text()
    if text.count(rule["old"]) != 1:
        return [], "its lines stand %d times in %s" % (text.count(rule["old"]), rule["file"])
    path.write_text(text.replace(rule["old"], rule["new"]))
    try:
        targets = [".build/tests/" + x if x.startswith("test_") else ".build/etinspect" for x in rule["tests"]]
        made = run(["make", "-s", "-j2", "WARN=", "OPT=-O1"] + targets, tree)
        if made.returncode:
            return [], "it does not build without it:\n" + made.stdout[-2000:]
        red = []
        for name in rule["tests"]:
            ran = run([".build/tests/" + name] if name.startswith("test_") else ["bash", "tests/" + name], tree)
            found = failures(ran.stdout)
            if not found and not ran.returncode:
                return [], "%s does not notice" % name
            red += found or ["%s ends with %d" % (name, ran.returncode)]
        return red, None
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / ".build")
    parser.add_argument("--list", type=pathlib.Path, default=ROOT / "tests/rules.txt")
    parser.add_argument("pattern", nargs="*")
    a = parser.parse_args()
    rules = [r for r in read_rules(a.list) if not a.pattern or any(p in r["says"] for p in a.pattern)]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".build"))
        subprocess.run(["cp", "-a", str(a.build), str(tree / ".build")], check=True)
        print("1..%d" % len(rules))
        for i, rule in enumerate(rules, 1):
            red, error = try_rule(rule, tree)
            print("%s %d - %s" % ("not ok" if error else "ok", i, rule["says"]))
            print("# " + (error or ", ".join(red[:3])).replace("\n", "\n# "), flush=True)
            bad += error is not None
    print("# %d of %d rules are guarded" % (len(rules) - bad, len(rules)))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
