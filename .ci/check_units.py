"""A sweep of 10 000 tiny units: plan, status, merge and a unit in a process of its own within limits.

    check_units.py SCHEDLAB DIR
"""

import os
import subprocess
import sys
import time

# Seconds for each command; twice what issue 26 asks of a quiet computer with a good disk, since this
# one may have other work.
LIMITS_S = {"plan": 4, "status": 2, "merge": 10}
UNIT_MS_MAX = 100
MEMORY_MIB_MAX = 200
N_POINTS = 5000
N_ALONE = 20

SCENARIO = """title   = "10 000 tiny units"
policy  = "fifo"
machine = "pack:1 l3:1 core:2 pu:1"
[workload]
kind       = "mm-c"
service_ns = 1000
rate       = 1000
[run]
seeds = 1
until = "1ms"
[[variant]]
name = "fifo"
[[variant]]
name   = "cfs"
policy = "cfs"
[sweep]
service_ns = [%s]
"""


def timed(*command):
    """Runs a command; gives its seconds and its memory in MiB."""
    begin = time.monotonic()
    with open(os.devnull, "w") as nowhere:
        child = subprocess.Popen(command, stdout=nowhere)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    schedlab, folder = sys.argv[1:]
    os.makedirs(folder)
    scenario, units = f"{folder}/tiny.toml", f"{folder}/units"
    with open(scenario, "w") as file:
        file.write(SCENARIO % ", ".join(str(1000 + n) for n in range(N_POINTS)))
    faults = []

    def check(name, limit_s, *args):
        seconds, mib = timed(schedlab, "sweep", *args)
        print(f"{name:8} {seconds:6.2f} s {mib:6.0f} MiB")
        if limit_s is not None and seconds > limit_s:
            print(f"!! {name} takes more than {limit_s} s; is something else running?")
        if mib > MEMORY_MIB_MAX:
            faults.append(f"{name} takes more than {MEMORY_MIB_MAX} MiB")

    check("plan", LIMITS_S["plan"], "plan", scenario, "--out", units)
    seconds = [timed(schedlab, "sweep", "unit", units, "--index", str(n))[0] for n in range(N_ALONE)]
    unit_ms = 1000 * sorted(seconds)[N_ALONE // 2]
    print(f"unit     {unit_ms:6.0f} ms (median of {N_ALONE})")
    if unit_ms > UNIT_MS_MAX:
        print(f"!! a unit alone takes more than {UNIT_MS_MAX} ms; is something else running?")
    check("run", None, "run", units, "--quiet")
    check("status", LIMITS_S["status"], "status", units)
    check("merge", LIMITS_S["merge"], "merge", units)
    if faults:
        sys.exit("\n".join(faults))


main()
