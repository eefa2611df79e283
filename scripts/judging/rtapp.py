"""What the judge must know of an rt-app file: the names of its threads, and how long they go on."""

import json
import re
from pathlib import Path

# A thread whose last event lies before this share of the window has gone for good.
SILENT_BEFORE = 0.75


class RtApp:
    """An rt-app file, which may have comments and trailing commas."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.stem
        text = re.sub(r'("(?:\\.|[^"\\])*")|/\*.*?\*/|//[^\n]*',
                      lambda m: m[1] or " ", self.path.read_text(), flags=re.S)
        self.content = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
        self.threads = list(self.content["tasks"])

    def until(self):
        """When a simulation has certainly seen all: threads leave after the duration's end."""
        duration = self.content.get("global", {}).get("duration", -1)
        return f"{duration + 1}s" if duration > 0 else "done"

    def endless(self):
        """Names of threads that go on for as long as the file lasts."""
        tasks = self.content["tasks"]
        return [name for name in tasks if tasks[name].get("loop", -1) < 0]

    def lost(self, run):
        """Names of the endless threads that fell silent early. In rt-app a `resume` that comes
        before its `suspend` is lost; the two threads then wait for each other for ever."""
        silent = run.get("silent_after", {})
        return [name for name in self.endless() if silent.get(name, 1.0) < SILENT_BEFORE]
