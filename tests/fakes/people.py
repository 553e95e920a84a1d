"""The people directory, exemptions, and what reaches people and operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.domain.exemptions import Exemption
from proctor.domain.identity import Person, SessionOwner, lookup_keys


@dataclass
class FakePeopleDirectory:
    """Rows under every identity of a person; of two people with one identity the last written stays."""

    rows: dict[str, Person] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)

    def put(self, person: Person) -> None:
        """Load one person."""
        self.remove(person.login_name)
        self.people[person.login_name] = person
        self.rows |= {identity.key: person for identity in person.identities}

    def remove(self, login_name: str) -> None:
        """Take one person out."""
        self.people.pop(login_name, None)
        self.rows = {key: p for key, p in self.rows.items() if p.login_name != login_name}

    def by_owner(self, owners: Iterable[SessionOwner]) -> Mapping[str, Person]:
        keys = {key for owner in owners for key in lookup_keys(owner)}
        return {key: self.rows[key] for key in sorted(keys) if key in self.rows}

    def by_login_name(self, login_name: str) -> Person | None:
        return self.people.get(login_name)


@dataclass
class FakeExemptionStore:
    """Exemptions by function, expired ones included."""

    rows: dict[str, list[Exemption]] = field(default_factory=dict)

    def grant(self, function: str, exemption: Exemption) -> None:
        """Add one."""
        self.rows.setdefault(function, []).append(exemption)

    def for_function(self, function: str) -> Sequence[Exemption]:
        return tuple(self.rows.get(function, ()))


@dataclass(frozen=True, slots=True)
class Mail:
    """One message sent to a person."""

    email: str
    headline: str
    text: str


@dataclass
class FakePersonNotifier:
    """SES: a suppressed address gets nothing, and the caller is told."""

    suppressed: set[str] = field(default_factory=set)
    sent: list[Mail] = field(default_factory=list)

    def send(self, email: str, headline: str, text: str) -> bool:
        if email in self.suppressed:
            return False
        self.sent.append(Mail(email, headline, text))
        return True


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to the operators."""

    headline: str
    text: str
    next_steps: tuple[str, ...]


@dataclass
class FakeOperatorNotifier:
    """The operators' topic."""

    published: list[Notice] = field(default_factory=list)

    def publish(self, headline: str, text: str, next_steps: Sequence[str]) -> None:
        self.published.append(Notice(headline, text, tuple(next_steps)))
