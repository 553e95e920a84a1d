"""Slurm's commands as a table of answers; what changes Slurm is listed and can be made to take effect."""

from collections.abc import Callable, Iterator, Sequence

from proctor_agent.errors import SlurmError  # noqa: TC001 - a fake is used at run time

CONFIG = (
    "AccountingStorageEnforce = none",
    "AccountingStorageType = accounting_storage/none",
    "BOOT_TIME = 2026-11-30T18:06:52",
    "ClusterName = uni",
    "SlurmctldHost[0] = ip-10-0-0-1(10.0.0.1)",
    "SlurmctldLogFile = (null)",
    "SLURM_VERSION = 22.05.8",
)


class FakeCommands:
    """One partition whose state the write changes. `fail` decides which commands fail, and how."""

    def __init__(self, config: Sequence[str] = CONFIG) -> None:
        self.config = list(config)
        self.ping = ["Slurmctld(primary) at ip-10-0-0-1 is UP"]
        self.states = {"nlp": "UP", "vision": "UP"}
        self.asked: list[tuple[str, ...]] = []
        self.writes: list[tuple[str, ...]] = []
        self.fail: Callable[[Sequence[str]], SlurmError | None] = lambda _argv: None

    def lines(self, argv: Sequence[str], seconds: float) -> Iterator[str]:
        assert seconds > 0
        self.asked.append(tuple(argv))
        error = self.fail(argv)
        if error is not None:
            raise error
        yield from self._answer(tuple(argv))

    def run(self, argv: Sequence[str], seconds: float) -> str:
        assert seconds > 0
        error = self.fail(argv)
        if error is not None:
            raise error
        self.writes.append(tuple(argv))
        words = dict(word.partition("=")[::2] for word in argv[2:])
        if "PartitionName" in words:
            self.states[words["PartitionName"]] = words["State"]
        return ""

    def _answer(self, argv: tuple[str, ...]) -> list[str]:
        if argv[:1] == ("sinfo",):
            return ["idle|Unknown|Unknown|ip-10-1-0-[1-2]|none"]
        if argv == ("scontrol", "ping"):
            return self.ping
        if argv[-1] == "config":
            return self.config
        if argv[-1] == "partition":
            return [
                f"PartitionName={name} Default=NO QoS=N/A Nodes=ip-10-1-0-[1-2] State={state} TotalNodes=2"
                for name, state in self.states.items()
            ]
        return []
