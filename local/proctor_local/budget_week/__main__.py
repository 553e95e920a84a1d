"""`python -m proctor_local.budget_week`: bring everything up, play, say how it went.

Exit codes: 0 all went as it should, 1 something unexpected, 2 it could not start, 130 interrupted.
"""

import argparse
import sys
import time
from pathlib import Path

from proctor_local.aws_client import AwsError
from proctor_local.budget_week import acts, slurm_acts
from proctor_local.budget_week.ending import finish
from proctor_local.budget_week.slurm_acts import Cluster
from proctor_local.budget_week.university import University
from proctor_local.control import LocalAwsClient, LocalAwsError, running
from proctor_local.deploy import DeployError
from proctor_local.deployed import CommandError
from proctor_local.exam_week.log import Log
from proctor_slurm.errors import SlurmStackError


def main(arguments: list[str] | None = None) -> int:
    """Play; the exit code."""
    options = _parse(arguments)
    log = Log()
    try:
        with running(options.emulator, options.port) as local:
            return _play(local, log, options)
    except KeyboardInterrupt:
        log.plain("\ninterrupted; the local AWS and Slurm are gone, and nothing of them is left")
        return 130
    except (LocalAwsError, DeployError, AwsError, CommandError, SlurmStackError, TimeoutError) as error:
        print(f"could not go on: {error}", file=sys.stderr)
        return 2


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proctor_local.budget_week", description=__doc__)
    parser.add_argument("--template", type=Path, required=True, help="template.yaml that `sam build` wrote")
    parser.add_argument("--emulator", type=Path, required=True, help="python of the emulator's environment")
    parser.add_argument("--architecture", required=True, choices=("arm64", "x86_64"))
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--keep", action="store_true", help="leave it up until Ctrl-C")
    return parser.parse_args(arguments)


def _play(local: LocalAwsClient, log: Log, options: argparse.Namespace) -> int:
    log.say("local AWS", f"is up at {local.endpoint} after {log.elapsed():.1f} s")
    university = University(local, log)
    try:
        university.open(options.template, options.architecture)
        log.note(
            f"Ready {log.elapsed():.1f} s after the start. AWS's figures arrive at once here; in AWS they are hours old."
        )
        scene(university)
        is_well = finish(university)
        if options.keep:
            _keep(university)
        return 0 if is_well else 1
    finally:
        university.close()


def scene(university: University) -> Cluster | None:
    """All acts, or those that need no Slurm; the Slurm side, where there is one."""
    if university.slurm is None or university.agent is None:
        acts.eighty_percent(university)
        acts.hundred_percent(university)
        acts.released_by_hand(university)
        acts.stays_released(university)
        return None
    cluster = Cluster(university, university.slurm, university.agent)
    slurm_acts.at_work(cluster)
    acts.eighty_percent(university)
    slurm_acts.is_held(cluster, acts.hundred_percent(university))
    ends_at = slurm_acts.partition_is_held(cluster)
    slurm_acts.undone(cluster)
    slurm_acts.released_by_hand(cluster)
    slurm_acts.new_period(cluster, ends_at)
    slurm_acts.nobody_was_hurt(cluster)
    return cluster


def _keep(university: University) -> None:
    exports = " ".join(f"{name}={value}" for name, value in university.stack.environment().items())
    slurm = f"\n  export SLURM_CONF={university.slurm.layout.slurm_conf}" if university.slurm else ""
    university.log.plain(
        f"""
It stays up until Ctrl-C. In another terminal, in this folder:

  export {exports}{slurm}
  .venv/bin/proctor status
  curl -s {university.local.endpoint}/_proctor/budgets      # control calls: docs/local.md
"""
    )
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    sys.exit(main())
