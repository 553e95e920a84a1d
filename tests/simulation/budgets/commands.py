"""scontrol, sacctmgr and sinfo over the simulated Slurm, in the words that the agent's own parsers read.

Every command takes a moment, in which others get their turn; every change is asked about by `watch` before it is made.
"""

from collections.abc import Callable, Iterator, Sequence

from proctor_agent.errors import SlurmError
from tests.simulation.budgets.slurm import FIELDS, NODE_COUNTS, NODE_SPANS, PARENTS, PEOPLE, SimulatedSlurm

type Watch = Callable[[Sequence[str], dict[str, str]], None]


class SimulatedCommands:
    """The agent's `Commands`. `pause` lets time pass and may end the process."""

    def __init__(self, slurm: SimulatedSlurm, pause: Callable[[str], None], watch: Watch) -> None:
        self._slurm = slurm
        self._pause = pause
        self._watch = watch

    def lines(self, argv: Sequence[str], seconds: float) -> Iterator[str]:
        self._begin(argv, seconds)
        return iter(self._answer(list(argv)))

    def run(self, argv: Sequence[str], seconds: float) -> str:
        self._begin(argv, seconds)
        words = dict(word.partition("=")[::2] for word in argv if "=" in word)
        self._watch(argv, words)
        self._change(list(argv), words)
        self._slurm.schedule()
        self._pause(f"after {' '.join(argv)}")
        return ""

    def _begin(self, argv: Sequence[str], seconds: float) -> None:
        self._pause(f"before {' '.join(argv)}")
        if self._slurm.is_hung:
            message = f"{argv[0]}: no answer within {seconds:.0f} s"
            raise SlurmError(message, is_silent=True)

    def _change(self, argv: list[str], words: dict[str, str]) -> None:
        slurm = self._slurm
        match argv[:2]:
            case ["scontrol", "update"] if "PartitionName" in words:
                slurm.states[words["PartitionName"]] = words["State"]
            case ["scontrol", "update"] if "NodeName" in words:
                is_drain = words["State"] == "DRAIN"
                slurm.nodes[words["NodeName"]] = ("drained", words["Reason"]) if is_drain else ("idle", "")
            case ["scontrol", "create"]:
                slurm.reservations[words["ReservationName"]] = words["Nodes"]
            case ["scontrol", "delete"]:
                del slurm.reservations[words["ReservationName"]]
            case ["sacctmgr", _] if "account" in argv:
                for word in argv[argv.index("set") + 1 :]:
                    name, _, value = word.partition("=")
                    name, value = (
                        ("GrpTRES/node", value.removeprefix("node=")) if name == "GrpTRES" else (name, value)
                    )
                    slurm.limits[words["name"]][name] = None if value == "-1" else int(value)
            case _:
                message = f"the simulated Slurm does not know {argv}"
                raise AssertionError(message)

    def _answer(self, argv: list[str]) -> list[str]:
        slurm = self._slurm
        if argv[0] == "sinfo":
            return [
                f"{state}|root|Unknown|{name}|{reason or 'none'}"
                for name, (state, reason) in slurm.nodes.items()
            ]
        if argv[0] == "sacctmgr":
            return self._accounts() if "assoc" in argv else [_qos(n, v) for n, v in slurm.qos.items()]
        if "assoc_mgr" in argv:
            wanted = next(w for w in argv if w.startswith("accounts=")).partition("=")[2].split(",")
            return [_limits(name, slurm.limits[name]) for name in wanted if name in slurm.limits]
        if argv[-1] == "config":
            enforce = "associations,limits,qos" if slurm.is_enforced else "associations"
            return [
                f"AccountingStorageEnforce = {enforce}",
                "AccountingStorageType = accounting_storage/slurmdbd",
                "ClusterName = alpha",
                "SlurmctldHost[0] = ip-10-0-0-1",
                "SLURM_VERSION = 24.11.5",
            ]
        if argv[-1] == "reservation":
            return [
                f"ReservationName={n} Nodes={v} State=ACTIVE Flags=MAINT"
                for n, v in slurm.reservations.items()
            ]
        return [
            f"PartitionName={n} Default=NO QoS=N/A Nodes={NODE_SPANS[n]} State={state} TotalNodes={NODE_COUNTS[n]}"
            for n, state in slurm.states.items()
        ]

    def _accounts(self) -> list[str]:
        rows = []
        for name, parent in PARENTS.items():
            qos = ",".join(self._slurm.usable[name])
            jobs, submit, node = (_number(self._slurm.limits[name][f], "") for f in FIELDS)
            rows.append(f"{name}|||{parent}|{jobs}|{submit}|{f'node={node}' if node else ''}|{qos}")
            rows += [f"{name}|{person}|||||| {qos}".replace(" ", "") for person in PEOPLE.get(name, ())]
        return rows


def _number(value: int | None, none: str) -> str:
    return none if value is None else str(value)


def _qos(name: str, limits: dict[str, int | None]) -> str:
    jobs, submit, node = (_number(limits[f], "") for f in FIELDS)
    return f"{name}|{jobs}|{submit}|{f'node={node}' if node else ''}|"


def _limits(name: str, limits: dict[str, int | None]) -> str:
    jobs, submit, node = (_number(limits[f], "N") for f in FIELDS)
    return (
        f"ClusterName=alpha Account={name} UserName= Partition= GrpJobs={jobs}(1) GrpSubmitJobs={submit}(1) "
        f"GrpTRES=cpu=N(8),node={node}(1)"
    )
