#!/usr/bin/env python3
"""Prints an example of examples/python with what it prints, as Markdown: scripts/python_example.py NAME."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    source = ROOT / "examples/python" / f"{sys.argv[1]}.py"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ROOT / "scripts/in_python.sh", source], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        print((done.stdout + done.stderr).strip().splitlines()[-1])
        raise SystemExit(done.returncode)
    print(f"```python\n{source.read_text().rstrip()}\n```\n\nprints\n\n```text\n{done.stdout.rstrip()}\n```")


if __name__ == "__main__":
    main()
