"""The closed list of things an agent can be asked to do to Slurm.

Each verb is held or released by its intent.

A verb is a value, not a command line: the agent builds argv lists from it. Names are checked here by
pattern and on the node against Slurm's own lists.
"""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Union

from proctor.domain.agent_protocol import names
from proctor.domain.agent_protocol.codec import ProtocolError

_MOST_NODES = 5000


class PartitionState(str, Enum):  # noqa: UP042 - StrEnum is 3.11
    """State= of a partition (scontrol(1)); running jobs go on in all four.

    UP: everything. DOWN: accepts jobs, starts none. DRAIN: refuses new jobs, still starts queued ones.
    INACTIVE: refuses new jobs and starts none.
    """

    UP = "UP"
    DOWN = "DOWN"
    DRAIN = "DRAIN"
    INACTIVE = "INACTIVE"


@dataclass(frozen=True)
class SetPartitionState:
    """A partition hold by state: visible in sinfo, lost at reconfigure (so re-asserted).

    It is bypassed by `sbatch -p held,other` and by moving a pending job to another partition.
    """

    partition: names.PartitionName
    state: PartitionState
    kind: ClassVar[str] = "partition"

    def __post_init__(self) -> None:
        """UP is what a release restores, never what a hold sets."""
        if self.state is PartitionState.UP:
            raise ProtocolError("state: a hold can't be UP; release the intent instead")

    @property
    def subject(self) -> str:
        """The partition."""
        return self.partition


@dataclass(frozen=True)
class LimitAccount:
    """New jobs of one account and its children don't start; running ones go on.

    The agent picks the field: GrpJobs=0, or GrpTRES=node=0 where a QOS usable by the account sets GrpJobs.
    `refuse_submissions` adds GrpSubmitJobs=0. Needs AccountingStorageEnforce with limits.
    """

    account: names.AccountName
    refuse_submissions: bool = False
    kind: ClassVar[str] = "account"

    def __post_init__(self) -> None:
        """The root account is everybody."""
        if self.account in names.PROTECTED_ACCOUNTS:
            raise ProtocolError(f"account: {self.account} is protected, a limit on it would hold everybody")

    @property
    def subject(self) -> str:
        """The account."""
        return self.account


@dataclass(frozen=True)
class LimitPartitionQos:
    """GrpJobs=0 on the QOS of one partition: durable, and holds whoever uses the partition.

    Refused by the agent unless the partition's line carries that QOS and no association may use it elsewhere.
    """

    partition: names.PartitionName
    qos: names.QosName
    kind: ClassVar[str] = "partition_qos"

    @property
    def subject(self) -> str:
        """The partition."""
        return self.partition


@dataclass(frozen=True)
class ReserveNodes:
    """A reservation for root over nodes: closes `dev` and every other partition on them; running jobs go on.

    Either `partition`, whose present nodes are taken and followed, or a list of `nodes`.
    """

    name: names.ReservationName
    partition: names.PartitionName | None = None
    nodes: tuple[names.NodeName, ...] = ()
    kind: ClassVar[str] = "reservation"

    def __post_init__(self) -> None:
        """Exactly one of the two ways, and a list that fits a command line."""
        if (self.partition is None) == (not self.nodes):
            raise ProtocolError("partition, nodes: give one of them")
        if len(self.nodes) > _MOST_NODES:
            raise ProtocolError(f"nodes: {len(self.nodes)} are more than {_MOST_NODES}; name a partition")

    @property
    def subject(self) -> str:
        """The reservation's name."""
        return self.name


@dataclass(frozen=True)
class DrainNode:
    """A node takes no new job; running ones end in peace. Never overwrites a reason that is not ours."""

    node: names.NodeName
    instance_id: names.InstanceId
    reason: names.OurReason
    kind: ClassVar[str] = "node"

    @property
    def subject(self) -> str:
        """The node."""
        return self.node


@dataclass(frozen=True)
class ResumeNode:
    """A node takes jobs again, if its reason is ours, or Slurm's own "unexpectedly rebooted" when allowed."""

    node: names.NodeName
    instance_id: names.InstanceId
    may_clear_rebooted: bool = False
    kind: ClassVar[str] = "node"

    @property
    def subject(self) -> str:
        """The node."""
        return self.node


Verb = Union[  # noqa: UP007 - an alias evaluated at import on 3.10
    SetPartitionState, LimitAccount, LimitPartitionQos, ReserveNodes, DrainNode, ResumeNode
]
VERBS: dict[str, type[Verb]] = {
    kind.__name__: kind
    for kind in (SetPartitionState, LimitAccount, LimitPartitionQos, ReserveNodes, DrainNode, ResumeNode)
}
