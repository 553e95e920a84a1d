"""The Slurm side: intents, observed state, AWS Budgets, definitions, memories, the wake-up queue."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from proctor.domain.agent_protocol import Intent
from proctor.domain.budgets_exemptions import BudgetExemption
from proctor.domain.budgets_memory import BudgetMemory, from_record, to_record
from proctor.domain.budgets_reading import BudgetAnswer, BudgetUnread
from proctor.domain.errors import InvalidInputError, LostRaceError, NotFoundError
from proctor.domain.policy import PolicyDraft, PolicyInForce, policy_parameter
from proctor.domain.slurm_actions import StoredIntents
from proctor.domain.slurm_state import SlurmView


@dataclass
class FakeIntentStore:
    """Conditional writes on owner and revision. `odd` holds (pk, sk) of items that can't be read."""

    items: dict[tuple[str, str], Intent] = field(default_factory=dict)
    odd: set[tuple[str, str]] = field(default_factory=set)
    written: list[Intent] = field(default_factory=list)

    def intents(self, cluster: str) -> StoredIntents:
        pk = f"{cluster}#controller"
        found: dict[str, Intent | None] = {sk: i for (p, sk), i in self.items.items() if p == pk}
        return {**found, **{sk: None for p, sk in self.odd if p == pk}}

    def get(self, pk: str, sk: str) -> Intent | None:
        return self.items.get((pk, sk))

    def put(self, intent: Intent, expected_rev: int) -> None:
        stored = self.items.get((intent.pk, intent.sk))
        is_free = stored is None and expected_rev == 0
        is_ours = stored is not None and (stored.owner, stored.rev) == (intent.owner, expected_rev)
        if not (is_free or is_ours) or (intent.pk, intent.sk) in self.odd:
            message = f"{intent.sk} is not at revision {expected_rev} of {intent.owner}"
            raise LostRaceError(message)
        self.items[intent.pk, intent.sk] = Intent.from_item(intent.to_item())
        self.written.append(intent)

    def held(self, cluster: str = "alpha") -> set[str]:
        """Sort keys of intents that are held."""
        return {sk for sk, i in self.intents(cluster).items() if i is not None and i.is_held}


@dataclass
class FakeSlurmState:
    """Views by cluster; usage rows before the asked hour are left out, as by the table."""

    views: dict[str, SlurmView] = field(default_factory=dict)

    def view(self, cluster: str, *, usage_since: datetime | None) -> SlurmView:
        view = self.views.get(cluster, SlurmView(cluster=cluster))
        rows = () if usage_since is None else tuple(r for r in view.usage if r.hour_at >= usage_since)
        return replace(view, usage=rows)


@dataclass
class FakeWakeUp:
    """Clusters whose agent was woken."""

    woken: list[str] = field(default_factory=list)

    def wake(self, cluster: str) -> None:
        self.woken.append(cluster)


@dataclass
class FakeBudgetLedger:
    """Answers by name; a name without one is missing at AWS."""

    answers: dict[str, BudgetAnswer] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def read(self, names: Iterable[str], *, afresh: bool = False) -> Mapping[str, BudgetAnswer]:
        wanted = sorted(set(names))
        self.reads += wanted
        missing = {n: BudgetUnread(name=n, error="NotFoundException", is_missing=True) for n in wanted}
        return {**missing, **{n: self.answers[n] for n in wanted if n in self.answers}}


@dataclass
class FakeBudgetMemory:
    """Records as JSON, swapped by revision."""

    records: dict[str, tuple[int, dict[str, object]]] = field(default_factory=dict)

    def get(self, subject: str) -> BudgetMemory:
        stored = self.records.get(subject)
        return from_record(stored[1], stored[0]) if stored is not None else BudgetMemory()

    def all(self, cluster: str) -> Mapping[str, BudgetMemory]:
        return {s: self.get(s) for s in self.records if s.startswith(f"{cluster}#")}

    def swap(self, subject: str, data: object, expected_rev: int) -> None:
        if not isinstance(data, BudgetMemory):
            message = f"this memory keeps BudgetMemory, not {type(data).__name__}"
            raise TypeError(message)
        rev = self.records.get(subject, (0, {}))[0]
        if rev != expected_rev:
            message = f"revision is {rev}, not {expected_rev}"
            raise LostRaceError(message)
        self.records[subject] = (rev + 1, to_record(data))


@dataclass
class FakeBudgetDefinitions[P]:
    """Every version of every definition; version n is the n-th text written. Nothing is cached."""

    function: str
    clusters: tuple[str, ...]
    parse: Callable[[str], P]
    versions: dict[str, list[str]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)

    def write(self, cluster: str, budget: str, text: str) -> str:
        """Someone writes a new version; the label stays where it is. Answers the parameter's name."""
        name = f"{policy_parameter(cluster, self.function)}/{budget}"
        self.versions.setdefault(name, []).append(text)
        return name

    def remove(self, cluster: str, budget: str) -> None:
        """Someone deletes a definition."""
        name = f"{policy_parameter(cluster, self.function)}/{budget}"
        del self.versions[name]
        self.labels.pop(name, None)

    def in_force(self) -> Mapping[str, Mapping[str, PolicyInForce[P] | str]]:
        return {cluster: self._in_force(cluster) for cluster in self.clusters}

    def drafts(self, cluster: str) -> Sequence[PolicyDraft]:
        return [d for d in map(self.draft, self._names(cluster)) if d is not None]

    def draft(self, parameter_name: str) -> PolicyDraft | None:
        texts = self.versions.get(parameter_name)
        if not texts:
            return None
        error: str | None = None
        try:
            self.parse(texts[-1])
        except InvalidInputError as invalid:
            error = str(invalid)
        cluster = parameter_name.split("/")[2]
        is_in_force = self.labels.get(parameter_name) == len(texts)
        return PolicyDraft(cluster, parameter_name, len(texts), is_in_force, error)

    def put_in_force(self, parameter_name: str, version: int) -> None:
        if not 1 <= version <= len(self.versions.get(parameter_name, ())):
            message = f"ssm:LabelParameterVersion: ParameterVersionNotFound {parameter_name}:{version}"
            raise NotFoundError(message)
        self.labels[parameter_name] = version

    def _names(self, cluster: str) -> list[str]:
        return sorted(
            n for n in self.versions if n.startswith(f"{policy_parameter(cluster, self.function)}/")
        )

    def _in_force(self, cluster: str) -> dict[str, PolicyInForce[P] | str]:
        found: dict[str, PolicyInForce[P] | str] = {}
        for name in self._names(cluster):
            version = self.labels.get(name)
            if version is None:
                continue
            budget = name.rpartition("/")[2]
            try:
                found[budget] = PolicyInForce(cluster, version, self.parse(self.versions[name][version - 1]))
            except InvalidInputError as error:
                found[budget] = str(error)
        return found


@dataclass
class FakeBudgetExemptions:
    """Exemptions, expired ones included."""

    rows: list[BudgetExemption] = field(default_factory=list)

    def exemptions(self) -> Sequence[BudgetExemption]:
        return tuple(self.rows)
