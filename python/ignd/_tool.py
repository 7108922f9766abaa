"""The command-line tool that the package brings along."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import ignd


def tool_path() -> Path:
    """The program `ignd` of the package."""
    # Not by __file__: in a build folder that may be a link to the sources.
    return Path(ignd.__path__[0]) / "bin" / "ignd"


def run_tool(arguments: Sequence[str], *, quiet: bool = False) -> None:
    """Runs `ignd ARGUMENTS...`. Raises RuntimeError with what it says where it fails."""
    output = subprocess.DEVNULL if quiet else None
    done = subprocess.run([str(tool_path()), *arguments], stdout=output, stderr=subprocess.PIPE if quiet else None,
                          text=True, check=False)
    if done.returncode == -signal.SIGINT or done.returncode == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise RuntimeError((done.stderr or f"ignd {' '.join(arguments)} failed").strip().splitlines()[-1])


def main() -> None:
    """The command `ignd`."""
    tool = str(tool_path())
    os.execv(tool, [tool, *sys.argv[1:]])
