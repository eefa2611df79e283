"""Does the units of a sweep on Ray: `schedlab sweep submit DIR --engine ray` starts it.

A task does some units. What is done is told by the sweep's folder alone, which all nodes must see
under the same path: a task whose worker was killed is tried again by Ray, and what it had done by
then is there already.
"""

import argparse
import os
import subprocess
import sys

import ray

from schedlab import Sweep

# How often Ray starts a task again whose worker has died. Units that fail by themselves are kept as
# such and are not tried again.
RETRIES_MAX = 5


def do_units(program, folder, names):
    """Runs in a worker: does these units; gives the program's complaint, if it has one."""
    command = [program, "sweep", "unit", folder, *names, "--quiet"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode < 0:
        # It was killed: that is no answer.
        raise RuntimeError(f"a unit was ended by signal {-done.returncode}")
    return done.stderr.strip()


def submit(folder, program, units_per_task, address=None):
    """Does what is missing; gives the sweep's status and what tasks complained about."""
    os.environ["SCHEDLAB"] = program
    folder = os.path.abspath(folder)
    sweep = Sweep(folder)
    missing = sweep.missing()
    if missing:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    task = ray.remote(num_cpus=1, max_retries=RETRIES_MAX, retry_exceptions=[RuntimeError])(do_units)
    parts = [missing[n : n + units_per_task] for n in range(0, len(missing), units_per_task)]
    waiting = [task.remote(program, folder, part) for part in parts]
    complaints = []
    while waiting:
        [done], waiting = ray.wait(waiting, num_returns=1)
        try:
            complaint = ray.get(done)
        except ray.exceptions.RayError as error:
            complaint = str(error).splitlines()[0]
        if complaint:
            complaints.append(complaint)
    return sweep.status(), complaints


def main():
    parser = argparse.ArgumentParser(prog="python3 -m schedlab.ray_engine", description=__doc__)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--program", required=True, help="the schedlab that planned the sweep")
    parser.add_argument("--units-per-task", type=int, default=1, metavar="N")
    parser.add_argument("--address", help="the cluster [default: RAY_ADDRESS, or one of its own]")
    args = parser.parse_args()
    address = args.address or os.environ.get("RAY_ADDRESS")
    status, complaints = submit(args.folder, args.program, args.units_per_task, address)
    for complaint in complaints[:20]:
        print(complaint, file=sys.stderr)
    failed = len(status["failed"])
    print(f"{status['units']} units: {status['done']} done, {failed} failed, {status['missing']} missing")
    sys.exit(1 if failed or status["missing"] else 0)


if __name__ == "__main__":
    main()
