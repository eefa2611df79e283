"""Running other programs, and writing what is kept."""

import json
import subprocess


def run(command, **more):
    """Runs a program and stops if it fails."""
    try:
        return subprocess.run(command, check=True, **more)
    except FileNotFoundError:
        raise SystemExit(f"judge: {command[0]} is not installed")
    except subprocess.CalledProcessError as error:
        said = (error.stderr or b"").decode(errors="replace").strip()
        raise SystemExit(f"judge: {' '.join(map(str, command))}: exit {error.returncode}\n{said}")


def write(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")
