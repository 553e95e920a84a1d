"""MariaDB for slurmdbd: private directory, private socket, no network."""

import getpass
import os
import subprocess
from pathlib import Path

from proctor_slurm.config import Layout
from proctor_slurm.errors import SlurmStackError
from proctor_slurm.packages import find_program

_SECONDS = 60


def program(name: str) -> str:
    """Path of a program that `available()` has promised."""
    found = find_program(name)
    if found is None:
        raise SlurmStackError(f"{name}: not installed")
    return found


def create(layout: Layout) -> None:
    """Make the system tables; who runs this may connect through the socket without a password."""
    log = layout.root / "log" / "mariadb-install.log"
    argv = [
        program("mariadb-install-db"),
        "--no-defaults",
        f"--datadir={layout.root}/db",
        "--auth-root-authentication-method=socket",
        f"--auth-root-socket-user={getpass.getuser()}",
        "--skip-test-db",
        "--skip-name-resolve",
    ]
    if os.geteuid() == 0:
        argv.append("--user=root")
    with log.open("wb") as output:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=_SECONDS, check=False
        )
    if done.returncode != 0:
        raise SlurmStackError(f"mariadb-install-db failed: {tail(log)}")


def server_argv(layout: Layout) -> list[str]:
    """Command line of the server, small and without durability: the data are a test's."""
    argv = [
        program("mariadbd"),
        "--no-defaults",
        f"--datadir={layout.root}/db",
        f"--socket={layout.mysql_socket}",
        f"--pid-file={layout.root}/run/mariadb.pid",
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-buffer-pool-size=64M",
        "--innodb-lock-wait-timeout=900",
        "--innodb-flush-log-at-trx-commit=0",
    ]
    if os.geteuid() == 0:
        argv.append("--user=root")
    return argv


def is_up(layout: Layout) -> bool:
    """Whether the server answers on its socket."""
    argv = [
        program("mariadb-admin"),
        "--no-defaults",
        f"--socket={layout.mysql_socket}",
        "--connect-timeout=2",
        "ping",
    ]
    done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
    return done.returncode == 0


def create_accounting_database(layout: Layout) -> None:
    """The database and the login that slurmdbd uses."""
    statement = (
        "create database if not exists slurm_acct_db;"
        "create user if not exists 'slurm'@'localhost' identified by 'local';"
        "grant all on slurm_acct_db.* to 'slurm'@'localhost'"
    )
    login = "root" if os.geteuid() == 0 else getpass.getuser()
    argv = [
        program("mariadb"),
        "--no-defaults",
        f"--socket={layout.mysql_socket}",
        f"--user={login}",
        "-e",
        statement,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise SlurmStackError(f"mariadb: {done.stderr.strip()}")


def tail(log: Path, lines: int = 4) -> str:
    """Last lines of a log, for an error message."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"no {log.name}"
    return " | ".join(text.strip().splitlines()[-lines:])
