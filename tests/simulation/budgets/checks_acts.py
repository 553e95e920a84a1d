"""At each change that the agent makes to Slurm: only what an intent asks for, and never over an administrator's word."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.domain.agent_protocol import OUR_REASON_PREFIX, controller_pk
from tests.simulation.budgets.scenario import CLUSTER
from tests.simulation.budgets.slurm import FIELDS
from tests.simulation.core.violation import ViolationError

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus

_STRICT = {"UP": 0, "DRAIN": 1, "DOWN": 1, "INACTIVE": 2}
type Place = tuple[str, str]


class CommandChecks:
    """`ours`: (partition or account, field) → what the agent set. `admin`: what an administrator has there."""

    def __init__(self, campus: "Campus") -> None:
        self._campus = campus
        self.ours: dict[Place, str] = {}
        self.admin: dict[Place, str] = {}

    def remember_admin(self) -> None:
        """What stands in Slurm before Proctor does anything."""
        slurm = self._campus.slurm
        for name, limits in slurm.limits.items():
            self.admin |= {(name, f): as_text(limits[f]) for f in FIELDS}
        self.admin |= {(name, "State"): state for name, state in slurm.conf.items()}

    def asked(self, argv: Sequence[str], words: dict[str, str]) -> None:
        """Called before the change."""
        self._campus.story.tell("agent", " ".join(argv))
        try:
            self._check(argv, words)
        except ViolationError as violation:
            self._campus.scheduler.fail(violation)

    def _check(self, argv: Sequence[str], words: dict[str, str]) -> None:
        if argv[0] not in {"scontrol", "sacctmgr"} or argv[1] not in {"update", "create", "delete", "-i"}:
            raise ViolationError("running jobs", f"{' '.join(argv)} is no verb of ours", [])
        if "PartitionName" in words:
            self._partition(words["PartitionName"], words["State"])
        elif "NodeName" in words:
            self._node(words["NodeName"], words["State"])
        elif "ReservationName" in words and not words["ReservationName"].startswith("proctor-"):
            raise ViolationError("4 not ours", f"{' '.join(argv)}", [])
        elif argv[0] == "sacctmgr":
            for word in argv[argv.index("set") + 1 :]:
                name, _, value = word.partition("=")
                field = "GrpTRES/node" if name == "GrpTRES" else name
                self._limit(words["name"], field, value.removeprefix("node="))

    def _partition(self, name: str, state: str) -> None:
        now, place = self._campus.slurm.states[name], (name, "State")
        if state == self.admin[place]:
            if self.ours.get(place) != now:
                raise ViolationError(
                    "4 not ours", f"partition {name} is {now}, which is not ours to lift", [name]
                )
            self.ours.pop(place)
            return
        if not self._is_wanted(f"partition#{name}"):
            raise ViolationError(
                "4 previous value", f"partition {name} set to {state}; nobody wants that", [name]
            )
        if now != self.ours.get(place) and _STRICT[state] < _STRICT[now]:
            raise ViolationError(
                "4 not ours", f"partition {name} goes from an operator's {now} to {state}", [name]
            )
        self.ours[place] = state

    def _limit(self, account: str, field: str, value: str) -> None:
        place = (account, field)
        now = as_text(self._campus.slurm.limits[account][field])
        if value != "0":
            if value != self.admin[place]:
                text = f"{field} of {account} becomes {value}; before us it was {self.admin[place]}"
                raise ViolationError("4 previous value", text, [account])
            if place not in self.ours and now == "0":
                raise ViolationError("4 not ours", f"{field}=0 of {account} is an operator's own", [account])
            self.ours.pop(place, None)
            return
        if not self._is_wanted(f"account#{account}"):
            raise ViolationError("innocent", f"{field}=0 on {account}, which no intent holds", [account])
        self.ours[place] = value

    def _node(self, name: str, state: str) -> None:
        reason = self._campus.slurm.nodes[name][1]
        if reason and not reason.startswith(OUR_REASON_PREFIX):
            text = f"{state} over {name}, which an administrator drained: {reason}"
            raise ViolationError("4 administrator's reason", text, [name])

    def _is_wanted(self, sk: str) -> bool:
        """Held in the table, or in what the agent read last."""
        stored = self._campus.intents.get(controller_pk(CLUSTER), sk)
        read = self._campus.agent.book.get(sk)
        return any(one is not None and one.is_held for one in (stored, read))


def as_text(value: int | None) -> str:
    """sacctmgr's word for a limit."""
    return "-1" if value is None else str(value)
