"""Start, break and stop one Slurm: munge, MariaDB, slurmdbd, slurmctld, slurmd."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from proctor_slurm import config, database, keeper
from proctor_slurm.config import GPU_DEVICES, Layout
from proctor_slurm.database import program, tail
from proctor_slurm.errors import SlurmStackError
from proctor_slurm.jobs import JobDesk
from proctor_slurm.keeper_client import KeeperClient, clear_leftovers
from proctor_slurm.shape import ClusterShape
from proctor_slurm.waiting import free_port_block, is_listening, wait_until

_CLIENT_SECONDS = 30.0
_LONGEST_SOCKET_PATH = 107
_FOLDERS = ("munge", "sock", "state", "log", "run", "dev", "db", "spool")


class SlurmStack:
    """One running Slurm. Use as a context manager, or `start()` and `stop()`.

    `root` is made when missing and removed on stop, also when this program dies. Without it a directory under
    the system's temporary folder is used. Ports are on loopback and free when chosen.
    """

    def __init__(self, shape: ClusterShape | None = None, root: Path | None = None) -> None:
        """Remember what to start; raise SlurmStackError when a socket path would be too long."""
        self.shape = shape or ClusterShape()
        chosen = root or Path(tempfile.gettempdir()) / f"proctor-slurm-{os.getpid()}-{os.urandom(3).hex()}"
        is_root = os.geteuid() == 0
        self.layout = Layout(
            root=chosen.absolute(),
            port=free_port_block(2 + (self.shape.node_count if self.shape.has_daemons else 0)),
            host=socket.gethostname().split(".")[0],
            os_login_name=getpass.getuser(),
            gpu_files=f"{chosen.absolute()}/dev/gpu" if is_root else "/dev/tty",
        )
        if len(str(self.layout.munge_socket)) > _LONGEST_SOCKET_PATH:
            raise SlurmStackError(f"{chosen}: path too long for a UNIX socket; choose a shorter directory")
        self._keeper: KeeperClient | None = None
        self.jobs = JobDesk(self.run)

    def __enter__(self) -> Self:
        """Start everything and wait until every node is idle."""
        self.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which Slurm's clients find this cluster."""
        path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        return kept | {"SLURM_CONF": str(self.layout.slurm_conf), "PATH": path}

    def start(self) -> None:
        """Start the daemons in order; on failure stop what was started and say what the logs said."""
        clear_leftovers(self.layout.root)
        self._prepare()
        self._keeper = KeeperClient(self.layout.root)
        try:
            self._start_munge()
            if self.shape.accounting:
                self._start_accounting()
            self.start_slurmctld()
            if self.shape.has_daemons:
                for name in self.shape.node_names():
                    self.start_slurmd(name)
                self.wait_for_idle_nodes()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every daemon and job and remove the directory. Safe to call twice."""
        held, self._keeper = self._keeper, None
        if held is not None:
            held.close()
        if (self.layout.root / keeper.MARKER).exists():
            clear_leftovers(self.layout.root)

    def _prepare(self) -> None:
        root = self.layout.root
        root.mkdir(parents=True, exist_ok=True, mode=0o755)
        (root / keeper.MARKER).touch()
        for folder in _FOLDERS:
            (root / folder).mkdir(mode=0o700 if folder == "munge" else 0o755)
        (root / "munge" / "key").write_bytes(os.urandom(128))
        (root / "munge" / "key").chmod(0o400)
        for name in self.shape.node_names() if self.shape.has_daemons else ():
            (root / "spool" / name).mkdir()
        if os.geteuid() == 0 and self.shape.has_daemons:
            for number in range(GPU_DEVICES):
                # The null device under another name: slurmd wants a character device for File=.
                os.mknod(root / "dev" / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        self.layout.slurm_conf.write_text(config.slurm_conf(self.layout, self.shape), encoding="ascii")
        (root / "gres.conf").write_text(config.gres_conf(self.layout, self.shape), encoding="ascii")
        (root / "accounting.conf").write_text(
            config.accounting_conf(self.layout, self.shape), encoding="ascii"
        )
        (root / "slurmdbd.conf").write_text(config.slurmdbd_conf(self.layout), encoding="ascii")
        (root / "slurmdbd.conf").chmod(0o600)

    def _spawn(self, name: str, argv: list[str], **extra: str) -> int:
        if self._keeper is None:
            raise SlurmStackError(f"{name}: the stack is not running")
        log = self.layout.root / "log" / f"{name}.out"
        answer = self._keeper.ask(
            do="spawn", name=name, argv=argv, environment=self.environment | extra, log=str(log)
        )
        return int(answer["pid"])

    def attach(self, name: str, argv: list[str], **extra: str) -> int:
        """Start another program beside the daemons, which ends with them; `extra` is environment. The pid."""
        return self._spawn(name, argv, **extra)

    def _start_munge(self) -> None:
        root = self.layout.root
        folder = root / "munge"
        argv = [
            program("munged"),
            "--foreground",
            # A directory that only its owner may enter is refused without it; that is the owner's choice.
            "--force",
            f"--key-file={folder}/key",
            f"--socket={self.layout.munge_socket}",
            f"--pid-file={root}/sock/munged.pid",
            f"--log-file={folder}/log",
            f"--seed-file={folder}/seed",
        ]
        self._spawn("munged", argv)
        self._wait(self.layout.munge_socket.exists, 10, "munged")

    def _start_accounting(self) -> None:
        database.create(self.layout)
        self._spawn("mariadb", database.server_argv(self.layout))
        self._wait(lambda: database.is_up(self.layout), 60, "mariadb")
        database.create_accounting_database(self.layout)
        self.start_slurmdbd()
        self.run("sacctmgr", "-i", "-Q", "add", "cluster", self.shape.cluster_name)
        for group in self.shape.groups:
            if group.partition_qos:
                self.run("sacctmgr", "-i", "-Q", "add", "qos", group.partition_qos)

    def start_slurmdbd(self) -> None:
        """Start slurmdbd and wait until it listens."""
        self._spawn("slurmdbd", [program("slurmdbd"), "-D"], MYSQL_UNIX_PORT=str(self.layout.mysql_socket))
        self._wait(lambda: is_listening(self.layout.port + 1), 60, "slurmdbd")

    def start_slurmctld(self) -> None:
        """Start slurmctld, by default without recovered partition states, and wait until it answers."""
        self._spawn("slurmctld", [program("slurmctld"), "-D"])
        self._wait(self.is_slurmctld_up, 60, "slurmctld")

    def start_slurmd(self, node_name: str) -> None:
        """Start one node's daemon; it registers by itself."""
        self._spawn(f"slurmd.{node_name}", [program("slurmd"), "-D", "-N", node_name])

    def send_signal(self, daemon: str, number: signal.Signals) -> None:
        """Signal one daemon: munged, mariadb, slurmdbd, slurmctld or slurmd.<node>."""
        if self._keeper is not None:
            self._keeper.ask(do="signal", name=daemon, number=int(number))

    def end(self, daemon: str, number: signal.Signals = signal.SIGTERM, seconds: float = 20) -> None:
        """Signal one daemon and wait until it has ended."""
        self.send_signal(daemon, number)
        if (
            self._keeper is None
            or self._keeper.ask(do="wait", name=daemon, seconds=seconds)["status"] is None
        ):
            raise SlurmStackError(f"{daemon}: still running {seconds:g} s after {number.name}")

    def is_slurmctld_up(self) -> bool:
        """Whether the controller answers."""
        return is_listening(self.layout.port) and " UP" in self.try_run("scontrol", "ping").stdout

    def wait_for_idle_nodes(self, seconds: float = 60) -> None:
        """Wait until every node is idle and answering."""
        wanted = self.shape.node_count

        def are_idle() -> bool:
            lines = self.try_run("sinfo", "-h", "-N", "-p", "dev", "-o", "%N %T").stdout.split("\n")
            return sum(line.endswith(" idle") for line in lines) == wanted

        self._wait(are_idle, seconds, f"{wanted} idle nodes")

    def _wait(self, is_done: Callable[[], bool], seconds: float, what: str) -> None:
        try:
            wait_until(is_done, seconds, what)
        except SlurmStackError as error:
            logs = "; ".join(
                f"{log.name}: {tail(log, 2)}" for log in sorted((self.layout.root / "log").iterdir())
            )
            raise SlurmStackError(f"{error} ({logs})") from error

    def try_run(self, *argv: str, seconds: float = _CLIENT_SECONDS) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's clients against this cluster; never raises for its exit status."""
        path = shutil.which(argv[0], path=self.environment["PATH"])
        if path is None:
            raise SlurmStackError(f"{argv[0]}: not installed")
        try:
            return subprocess.run(
                [path, *argv[1:]],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(list(argv), 124, "", f"{argv[0]}: over {seconds:g} s")

    def run(self, *argv: str, seconds: float = _CLIENT_SECONDS) -> str:
        """Run a client and return its output; SlurmStackError with what it said when it fails."""
        done = self.try_run(*argv, seconds=seconds)
        if done.returncode != 0:
            raise SlurmStackError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def add_accounts(self, accounts: Sequence[str], login_names: Sequence[str] = ()) -> None:
        """Create accounts, and associations of these login names with each of them."""
        for account in accounts:
            self.run("sacctmgr", "-i", "-Q", "add", "account", account, f"cluster={self.shape.cluster_name}")
            for name in login_names:
                self.run("sacctmgr", "-i", "-Q", "add", "user", name, f"account={account}")

    def log_text(self, daemon: str = "slurmctld") -> str:
        """What a daemon has logged so far."""
        with contextlib.suppress(OSError):
            return (self.layout.root / "log" / f"{daemon}.log").read_text(encoding="utf-8", errors="replace")
        return ""
