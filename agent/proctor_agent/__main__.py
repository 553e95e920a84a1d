"""The command `proctor-agent`. Exit status: 0 done, 1 something failed, 2 wrong use, 78 wrong settings or Python."""

import argparse
import dataclasses
import sys
from pathlib import Path

from proctor_agent import AGENT_VERSION
from proctor_agent.agent import Agent
from proctor_agent.check import check
from proctor_agent.errors import AgentError, AwsError, SettingsError, SlurmError
from proctor_agent.release import has_all_gone, release_all_ours
from proctor_agent.settings import DEFAULT_PATH, AgentSettings, load_settings

_WRONG_SETTINGS = 78


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="proctor-agent", description="Keeps Proctor's holds on Slurm in force."
    )
    parser.add_argument("--settings", type=Path, default=DEFAULT_PATH, help="JSON file (default %(default)s)")
    parser.add_argument("--version", action="version", version=AGENT_VERSION)
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="run until stopped")
    run.add_argument("--once", action="store_true", help="one pass, then end; status 1 when anything failed")
    run.add_argument("--dry-run", action="store_true", help="say what would be done, change nothing")
    install = commands.add_parser("install", help="enrol this node, or check it")
    install.add_argument("--check", action="store_true", help="only check; changes and sends nothing")
    release = commands.add_parser("release", help="let go of holds and drains")
    release.add_argument("--all-ours", action="store_true", required=True, help="everything the agent set")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "install" and options.check:
            return _check(options.settings)
        settings = load_settings(options.settings)
        if options.command == "release":
            return _release(settings)
        if options.command == "install":
            Agent(settings).enrol()
            return 0
        return _run(settings, options)
    except SettingsError as error:
        sys.stderr.write(f"proctor-agent: {error}\n")
        return _WRONG_SETTINGS
    except AgentError as error:
        sys.stderr.write(f"proctor-agent: {error}\n")
        return 1


def _run(settings: AgentSettings, options: argparse.Namespace) -> int:
    if getattr(options, "dry_run", False):
        settings = dataclasses.replace(settings, is_dry_run=True)
    agent = Agent(settings)
    if getattr(options, "once", False):
        status = agent.once()
        for problem in agent.problems():
            sys.stderr.write(f"proctor-agent: {problem}\n")
        for result in agent.controller.results():
            sys.stdout.write(f"{result.sk} rev {result.rev}: {result.outcome.value} {result.detail}\n")
        return status
    agent.run()
    return 0


def _check(path: Path) -> int:
    has_failed = False
    for finding in check(path):
        sys.stdout.write(f"{finding}\n")
        has_failed = has_failed or not (finding.is_good or finding.is_warning)
    return 1 if has_failed else 0


def _release(settings: AgentSettings) -> int:
    if not settings.is_controller:
        sys.stdout.write("nothing to release: only the controller's agent holds anything\n")
        return 0
    agent = Agent(settings)
    try:
        results = release_all_ours(
            agent.pk, agent.book, agent.records, agent.controller.reads, agent.controller.reconciler
        )
    except (SlurmError, AwsError) as error:
        sys.stderr.write(f"proctor-agent: {error}; nothing more was released\n")
        return 1
    for result in results:
        sys.stdout.write(f"{result.sk}: {result.outcome.value} {result.detail}\n")
    return 0 if has_all_gone(results) else 1


if __name__ == "__main__":
    sys.exit(main())
