"""Records rt-app files on the Linux at hand."""

import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

from .reduction import median_of, reduce
from .rtapp import RtApp
from .tools import run, write


class Autogroup:
    """Task groups by session would change weights: off while recording, and back afterwards."""

    PATH = Path("/proc/sys/kernel/sched_autogroup_enabled")

    def __enter__(self):
        self.was = self.PATH.read_text() if self.PATH.exists() else None
        if self.was is not None:
            self.PATH.write_text("0\n")

    def __exit__(self, *_):
        if self.was is not None:
            self.PATH.write_text(self.was)


def record(args):
    """Records each file on this kernel."""
    Path(args.real).mkdir(parents=True, exist_ok=True)
    with Autogroup(), tempfile.TemporaryDirectory() as work:
        for file in args.files:
            app = RtApp(file)
            runs = [record_once(app, n, args.real, work) for n in range(1, args.runs + 1)]
            write(Path(args.real) / f"{app.name}.figures.json", median_of(runs))
            print(f"recorded {app.name}, {args.runs} times", file=sys.stderr)


def record_once(app, n, folder, work):
    """Keeps one recording and returns its figures."""
    data = Path(work) / "perf.data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    # rt-app writes its logs where it stands.
    command = ["perf", "sched", "record", "-m", "4096", "-o", data]
    run([*command, "rt-app", app.path.resolve()], cwd=work, **quiet)
    fields = "comm,pid,tid,cpu,time,event,trace"
    shown = run(["perf", "script", "--ns", "-i", data, "-F", fields],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with lzma.open(Path(folder) / f"{app.name}.{n}.txt.xz", "wb") as out:
        out.write(shown.stdout)
    return reduce(shown.stdout.decode(errors="replace").splitlines(), app.threads)
