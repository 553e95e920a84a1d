"""`python -m proctor_local.exam_week`: bring the stack up, play the week, say how it went.

Exit codes: 0 all went as it should, 1 something unexpected, 2 it could not start, 130 interrupted.
"""

import argparse
import sys
import time
from pathlib import Path

from proctor_local.aws_client import AwsError
from proctor_local.control import LocalAwsClient, LocalAwsError, running
from proctor_local.deploy import DeployError
from proctor_local.deployed import CommandError
from proctor_local.exam_week import storm, week
from proctor_local.exam_week.campus import Campus
from proctor_local.exam_week.ending import finish
from proctor_local.exam_week.log import Log

DAYS = (week.monday, week.tuesday, week.wednesday, storm.thursday, storm.friday)


def main(arguments: list[str] | None = None) -> int:
    """Play; the exit code."""
    options = _parse(arguments)
    log = Log()
    try:
        with running(options.emulator, options.port) as local:
            return _play(local, log, options)
    except KeyboardInterrupt:
        log.plain("\ninterrupted; the local AWS is gone, and nothing of it is left")
        return 130
    except (LocalAwsError, DeployError, AwsError, CommandError) as error:
        print(f"could not go on: {error}", file=sys.stderr)
        return 2


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proctor_local.exam_week", description=__doc__)
    parser.add_argument("--template", type=Path, required=True, help="template.yaml that `sam build` wrote")
    parser.add_argument("--emulator", type=Path, required=True, help="python of the emulator's environment")
    parser.add_argument("--architecture", required=True, choices=("arm64", "x86_64"))
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--keep", action="store_true", help="leave it up until Ctrl-C")
    return parser.parse_args(arguments)


def _play(local: LocalAwsClient, log: Log, options: argparse.Namespace) -> int:
    log.say("local AWS", f"is up at {local.endpoint} after {log.elapsed():.1f} s")
    campus = Campus(local, log)
    campus.open(options.template, options.architecture)
    log.note(
        f"Ready {log.elapsed():.1f} s after the start. "
        "CloudTrail's records arrive at once here; in AWS they take seconds to minutes."
    )
    for day in DAYS:
        day(campus)
    is_well = finish(campus)
    campus.watcher.stop()
    log.plain(f"  {'time':<28} {log.elapsed():.0f} s")
    _go_on(campus, is_kept=options.keep)
    return 0 if is_well else 1


def _go_on(campus: Campus, *, is_kept: bool) -> None:
    if not is_kept:
        campus.log.plain(
            "\nGo on: `make run KEEP=1` leaves it up for `proctor`, `aws` and `sam`; docs/local.md; `make e2e` tests all this."
        )
        return
    exports = " ".join(f"{name}={value}" for name, value in campus.stack.environment().items())
    campus.log.plain(
        f"""
It stays up until Ctrl-C. In another terminal, in this folder:

  export {exports}
  .venv/bin/proctor status
  .venv/bin/proctor why person ada
  .venv/bin/proctor invoke session_limits --scope person:ada --justification "a look"
  aws ssm describe-sessions --state Active --max-results 5
  .tools/sam/bin/sam remote invoke SessionLimitsFunction --stack-name proctor --event-file events/session_limits/manual.json
  curl -s {campus.local.endpoint}/_proctor/sessions      # control calls: docs/local.md
"""
    )
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    sys.exit(main())
