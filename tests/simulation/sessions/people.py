"""The humans of the simulated university, as they truly are; what the directory says of them is made from that.

The oracle reads only these values, never Proctor's own identity code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from proctor.domain.identity import Identity, IdentityKind, Person

ACCOUNT, OTHER_ACCOUNT = "123456789012", "210987654321"
TRUSTED_ROLES = ("AWSReservedSSO_*",)
BREAK_GLASS_ROLE = "BreakGlassAdmin"
_HYPERPOD, _GPU = "AWSReservedSSO_HyperPod_0123456789abcdef", "AWSReservedSSO_Gpu_fedcba9876543210"


@dataclass(frozen=True, slots=True)
class Principal:
    """One way in: an ARN and the name that session ids begin with. `is_believed`: its name is set by the identity provider."""

    arn: str
    name: str
    is_believed: bool = True
    is_break_glass: bool = False


@dataclass
class Human:
    """One human. `login_name` None stands for somebody whom no directory row names."""

    nick: str
    login_name: str | None
    principals: Sequence[Principal]
    identities: Sequence[Identity] = ()
    groups: frozenset[str] = frozenset()
    is_break_glass: bool = False
    is_disabled: bool = False
    is_protected: bool = False
    run_as: str | None = None
    has_address: bool = True
    reconnects: int = 0
    likes_ports: bool = False
    mean_gap_seconds: float = 70.0
    leaves_at: float | None = None
    exempt: tuple[int | None, float] | None = None
    """An exemption: its cap (None: no cap at all) and when it ends, in seconds of true time."""

    opened: int = field(default=0, compare=False)

    def as_person(self) -> Person:
        """The row of the people directory. Raises ValueError for somebody without one."""
        if self.login_name is None:
            message = f"{self.nick} stands in no directory"
            raise ValueError(message)
        return Person(
            login_name=self.login_name,
            identities=tuple(self.identities),
            email=f"{self.login_name}@uni.example" if self.has_address else None,
            groups=self.groups,
            run_as=self.run_as,
            is_disabled=self.is_disabled,
            is_break_glass=self.is_break_glass,
        )

    def holder_of(self, principal: Principal) -> str:
        """Under which key this principal's sessions must be counted."""
        if self.login_name is None or not principal.is_believed:
            return f"owner:{principal.arn}"
        return self.login_name


def role_session(
    name: str, role: str = _HYPERPOD, account: str = ACCOUNT, *, is_believed: bool = True
) -> Principal:
    """A role session."""
    return Principal(f"arn:aws:sts::{account}:assumed-role/{role}/{name}", name, is_believed)


def iam_user(name: str, account: str = ACCOUNT) -> Principal:
    """An IAM user."""
    return Principal(f"arn:aws:iam::{account}:user/staff/{name}", name)


def _plain(nick: str, address: str | None = None, login: str | None = None) -> Human:
    name = address or f"{nick}@uni.example"
    return Human(
        nick,
        login or nick,
        [role_session(name)],
        [Identity(IdentityKind.ROLE_SESSION, name)],
        frozenset({"researchers"}),
    )


def _many_ways_in(nick: str) -> Human:
    """Two permission sets, and an IAM user in another account."""
    name = f"{nick}@uni.example"
    return replace(
        _plain(nick),
        principals=[role_session(name), role_session(name.upper(), _GPU), iam_user(nick, OTHER_ACCOUNT)],
        identities=[
            Identity(IdentityKind.ROLE_SESSION, name),
            Identity(IdentityKind.IAM_USER, nick, OTHER_ACCOUNT),
        ],
        mean_gap_seconds=50.0,
    )


def _emergency(nick: str) -> Human:
    """An ordinary person who at times comes in through the break-glass role."""
    usual = _plain(nick)
    role = role_session(f"{nick}@uni.example", BREAK_GLASS_ROLE, is_believed=False)
    return replace(usual, principals=[*usual.principals, replace(role, is_break_glass=True)])


def _impostor(nick: str) -> Human:
    """Calls his role session like a colleague's, under a role that lets him choose."""
    return Human(nick, None, [role_session("ada@uni.example", "DevRole", is_believed=False)])


def draw_people(chance: Random, active_seconds: float) -> list[Human]:
    """Everybody of one run; `ada` is always there."""
    exempt = replace(
        _plain("grace"),
        exempt=(chance.choice([None, 5, 6]), active_seconds * chance.uniform(0.3, 0.9)),
        mean_gap_seconds=45.0,
    )
    pool = [
        [_plain("kim", "kim@phys.example"), _plain("kimc", "kim@chem.example")],
        [exempt],
        [replace(_plain("hoard"), likes_ports=True, mean_gap_seconds=30.0)],
        [replace(_plain("vscode"), reconnects=5, mean_gap_seconds=60.0)],
        [replace(_plain("oncall"), is_break_glass=True, mean_gap_seconds=40.0)],
        [replace(_emergency("mary-ann"), mean_gap_seconds=45.0)],
        [replace(_plain("leaver"), leaves_at=active_seconds * chance.uniform(0.2, 0.8))],
        [replace(_plain("prof"), groups=frozenset({"pi", "admins"}), mean_gap_seconds=35.0)],
        [replace(_plain("vip"), is_protected=True, mean_gap_seconds=45.0)],
        [Human("guest", None, [role_session("guest@other.example")]), _impostor("eve")],
        [replace(_plain("rooty"), run_as="root", has_address=False)],
    ]
    chosen = chance.sample(pool, chance.randint(3, 5))
    return [_many_ways_in("ada"), *(human for some in chosen for human in some)]
