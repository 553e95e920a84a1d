"""`python -m proctor_slurm DIR`: a Slurm in the foreground until Ctrl-C or the end of input."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from proctor_slurm.errors import SlurmStackError
from proctor_slurm.packages import ensure_installed
from proctor_slurm.shape import ClusterShape, NodeGroup
from proctor_slurm.stack import SlurmStack


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="proctor_slurm", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR", help="made by the start, removed by the stop")
    parser.add_argument(
        "--group", action="append", metavar="NAME:NODES", help="an instance group and partition; repeat it"
    )
    parser.add_argument("--no-accounting", action="store_true", help="no MariaDB, no slurmdbd")
    parser.add_argument("--no-enforcement", action="store_true", help="record limits, never enforce them")
    parser.add_argument("--account", action="append", default=[], help="create this Slurm account; repeat it")
    return parser


def _groups(texts: list[str] | None) -> tuple[NodeGroup, ...]:
    if not texts:
        return ClusterShape().groups
    pairs = [text.partition(":") for text in texts]
    return tuple(NodeGroup(name, int(count or "1")) for name, _, count in pairs)


def main(arguments: list[str] | None = None) -> int:
    """Start, print how to reach it, wait, stop. Exit status 3 when Slurm can't run here."""
    options = _parser().parse_args(arguments)
    accounting = not options.no_accounting
    found = ensure_installed(accounting=accounting)
    if not found.is_available:
        sys.stderr.write(f"proctor_slurm: {found.reason}\n")
        return 3
    enforce = () if options.no_enforcement or not accounting else ClusterShape().enforce
    shape = ClusterShape(groups=_groups(options.group), accounting=accounting, enforce=enforce)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with SlurmStack(shape, options.directory) as stack:
            if accounting:
                stack.add_accounts(options.account, [stack.layout.os_login_name])
            sys.stdout.write(f"export SLURM_CONF={stack.layout.slurm_conf}\n{stack.run('sinfo')}ready\n")
            sys.stdout.flush()
            ended.wait()
    except SlurmStackError as error:
        sys.stderr.write(f"proctor_slurm: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
