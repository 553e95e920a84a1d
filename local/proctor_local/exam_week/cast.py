"""Who is at this university, what its clusters look like, and the policy it begins the week with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DOMAIN = "uni.example"
SENDER = f"proctor@{DOMAIN}"
MAIN, SECOND = "alpha", "beta"

RESEARCHER, STUDENT, BREAK_GLASS = "HyperPodResearcher", "HyperPodStudent", "BreakGlass"
"""Permission sets of Identity Center."""

CLUSTERS: Mapping[str, Mapping[str, Any]] = {
    MAIN: {
        "login": {"count": 3},
        "controller-machine": {"count": 1},
        "gpu": {"count": 4, "instance_type": "ml.p5.48xlarge"},
    },
    SECOND: {"login": {"count": 1}},
}
CLUSTER_IDS = {MAIN: "abcdef012345", SECOND: "bcdefa123456"}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    MAIN: {
        "mode": "apply",
        "cap": {"max_sessions": 3, "all_clusters": 5},
        "group_caps": [{"group": "staff", "max_sessions": 6}],
        "node_groups": [{"instance_group": "controller-machine", "allowed_groups": ["hpc-admins"]}],
        "break_glass_roles": ["AWSReservedSSO_BreakGlass_*"],
        "appeal": f"Write to hpc-help@{DOMAIN}.",
    },
    SECOND: {"mode": "apply", "appeal": f"Write to hpc-help@{DOMAIN}."},
}

# fmt: off
RESEARCHERS = (
    "alva", "bjorn", "carla", "dilan", "elif", "faris", "gita", "hugo", "ines", "jonas", "kaya", "lars",
    "mina", "nils", "olga", "pavel", "quinn", "rosa", "sven", "tara", "umut", "vera", "wim", "xenia",
    "yusuf", "zora", "abel", "britt", "cem", "doro", "emil", "frida", "gusti", "hanna", "ilse", "jasper",
)
# fmt: on
"""Three dozen who behave."""

STUDENTS = tuple(f"student{number:02}" for number in range(1, 41))
"""Forty who all arrive within one second."""


@dataclass(frozen=True, slots=True)
class Character:
    """Somebody with a part to play."""

    login_name: str
    part: str
    groups: tuple[str, ...] = ()
    is_disabled: bool = False
    has_email: bool = True

    def line(self) -> dict[str, Any]:
        """The person's line of people.jsonl."""
        line: dict[str, Any] = {
            "login_name": self.login_name,
            "identities": [{"kind": "role_session", "value": session_name(self.login_name)}],
            "time_zone": "Europe/Berlin",
            "groups": list(self.groups),
        }
        if self.has_email:
            line["email"] = session_name(self.login_name)
        return line | ({"is_disabled": True} if self.is_disabled else {})


CHARACTERS = (
    Character("ada", "opens one session too many"),
    Character("ben", "closes the lid of the laptop without logging out"),
    Character("chen", "works under two permission sets"),
    Character("dora", "works on both clusters"),
    Character("port", "hoards port forwards"),
    Character("loop", "has a client that reconnects at once"),
    Character("erin", "has an exemption for a paper deadline"),
    Character("kira", "left the university; her account is disabled", is_disabled=True),
    Character("milo", "is a researcher on the controller"),
    Character("root1", "is an administrator, and may be on the controller", groups=("hpc-admins", "staff")),
    Character("sina", "has a mailbox that bounces"),
    Character("lena", "starts a session whose event gets lost"),
    Character("theo", "gets a session ended by hand"),
    Character("prof", "is staff, whose cap is 6", groups=("staff",)),
)


def session_name(login_name: str) -> str:
    """The role session name: Identity Center's user name."""
    return f"{login_name}@{DOMAIN}"


def people_lines() -> str:
    """The whole people.jsonl."""
    plain = [Character(name, "") for name in (*RESEARCHERS, *STUDENTS)]
    return "".join(f"{json.dumps(character.line())}\n" for character in (*CHARACTERS, *plain))
