"""What one pass sees of Slurm: each answer is asked for at most once, and only when a decision needs it."""

from proctor.domain.agent_protocol import ObservedNode, ObservedPartition, ObservedReservation
from proctor_agent.holds.limits import Accounting
from proctor_agent.slurm.parse import Config, SchedulerLimits
from proctor_agent.slurm.reads import SlurmReads


class AccountingCache:
    """Settings, associations and QOS: read every minute, not every 5 s."""

    def __init__(self, reads: SlurmReads) -> None:
        """Nothing is read yet."""
        self._reads = reads
        self._config: Config | None = None
        self._accounting: Accounting | None = None

    def config(self) -> Config:
        """Slurm's settings, read on first use after `forget`."""
        if self._config is None:
            self._config = self._reads.config()
        return self._config

    def accounting(self, partitions: dict[str, ObservedPartition]) -> Accounting:
        """What limits are decided on; without slurmdbd there are no associations and no QOS."""
        config = self.config()
        if self._accounting is None:
            has_database = config.limits.storage_type.endswith("slurmdbd")
            cluster = config.limits.cluster_name
            associations = self._reads.associations(cluster) if has_database else []
            qos = self._reads.qos() if has_database else []
            self._accounting = Accounting(config.limits, associations, qos, partitions)
        held = self._accounting
        return Accounting(held.limits, held.associations, held.qos, partitions)

    @property
    def is_read(self) -> bool:
        """Whether the next question is answered from what was read before."""
        return self._accounting is not None

    def forget(self) -> None:
        """Ask again next time."""
        self._config = None
        self._accounting = None


class View:
    """One pass's answers."""

    def __init__(self, reads: SlurmReads, cache: AccountingCache) -> None:
        """Ask nothing before it is needed."""
        self._reads = reads
        self._cache = cache
        self._is_afresh = not cache.is_read
        self._partitions: dict[str, ObservedPartition] | None = None
        self._reservations: dict[str, ObservedReservation] | None = None
        self._nodes: dict[str, ObservedNode] = {}
        self._has_all_nodes = False
        self._accounts: dict[str, SchedulerLimits] | None = None
        self._qos: dict[str, SchedulerLimits] | None = None
        self.wanted_accounts: tuple[str, ...] = ()
        self.wanted_qos: tuple[str, ...] = ()

    def partitions(self) -> dict[str, ObservedPartition]:
        """All partitions."""
        if self._partitions is None:
            self._partitions = self._reads.partitions()
        return self._partitions

    def accounting(self) -> Accounting:
        """Settings, associations, QOS and partitions."""
        return self._cache.accounting(self.partitions())

    def refresh(self) -> bool:
        """Have settings, associations and QOS read again; False when this pass has read them already."""
        if self._is_afresh:
            return False
        self._cache.forget()
        self._is_afresh = True
        return True

    def account_limits(self, account: str) -> SchedulerLimits | None:
        """What slurmctld enforces on an account; one command serves every wanted account."""
        if self._accounts is None:
            self._accounts = self._reads.account_limits(self.wanted_accounts or (account,))
        return self._accounts.get(account)

    def qos_limits(self, qos: str) -> SchedulerLimits | None:
        """What slurmctld enforces on a QOS."""
        if self._qos is None:
            self._qos = self._reads.qos_limits(self.wanted_qos or (qos,))
        return self._qos.get(qos)

    def reservations(self) -> dict[str, ObservedReservation]:
        """All reservations."""
        if self._reservations is None:
            self._reservations = self._reads.reservations()
        return self._reservations

    def nodes(self) -> dict[str, ObservedNode]:
        """All nodes."""
        if not self._has_all_nodes:
            self._nodes = {row.name: row for row in self._reads.nodes()}
            self._has_all_nodes = True
        return self._nodes
