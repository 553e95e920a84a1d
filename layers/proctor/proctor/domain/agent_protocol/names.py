"""Names that may be put on a command line or into a key, and the words that mark what is ours.

Sources: CreateCluster (ClusterName), slurm.conf(5), sacctmgr(1) (accounts and QOS are lower case), and
HyperPod's NodeName `ip-a-b-c-d`.
"""

import re
from enum import Enum
from typing import Annotated, Final

PROTOCOL_VERSION: Final = 1

CLUSTER: Final = re.compile(r"[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,62}")
PARTITION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ACCOUNT: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
QOS: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
NODE: Final = re.compile(rf"ip(?:-{_OCTET}){{4}}")
INSTANCE_ID: Final = re.compile(r"i-[0-9a-z]{8,32}")
RESERVATION: Final = re.compile(r"proctor-[a-z0-9][a-z0-9-]{0,47}")
OWNER: Final = re.compile(r"[a-z][a-z_]{1,40}")
BOOT_ID: Final = re.compile(r"[0-9]{13}-[0-9a-f]{8}")
KEY_HEX: Final = re.compile(r"[0-9a-f]{64}")
# Printable ASCII without quotes, backslash or the separators of Slurm's own lists.
OUR_REASON: Final = re.compile(r"proctor:[A-Za-z0-9 ._:/@+-]{1,120}")
INTENT_SK: Final = re.compile(r"(?:partition|account|partition_qos|reservation|node)#[A-Za-z0-9._-]{1,64}")
LIMIT: Final = re.compile(r"-1|[0-9]{1,10}")

# A text field of a message with its pattern: read by the codec.
ClusterName = Annotated[str, CLUSTER]
PartitionName = Annotated[str, PARTITION]
AccountName = Annotated[str, ACCOUNT]
QosName = Annotated[str, QOS]
NodeName = Annotated[str, NODE]
InstanceId = Annotated[str, INSTANCE_ID]
ReservationName = Annotated[str, RESERVATION]
OwnerName = Annotated[str, OWNER]
BootId = Annotated[str, BOOT_ID]
KeyHex = Annotated[str, KEY_HEX]
OurReason = Annotated[str, OUR_REASON]
IntentSk = Annotated[str, INTENT_SK]

OUR_REASON_PREFIX: Final = "proctor:"
OUR_RESERVATION_PREFIX: Final = "proctor-"
# HyperPod reads these as commands (exact, case-sensitive): never overwritten, never cleared.
KEPT_REASONS: Final = ("Action:Reboot", "Action:Replace")
# The one reason of Slurm's own that ResumeNode may clear, when asked: a plain reboot leaves it.
REBOOTED_REASON: Final = "Node unexpectedly rebooted"
# A limit on the root account holds the whole cluster; nobody may mean that by a department's name.
PROTECTED_ACCOUNTS: Final = frozenset({"root"})


class Role(str, Enum):  # noqa: UP042 - StrEnum is 3.11
    """Which agent speaks: the one beside slurmctld, or one on any other node."""

    CONTROLLER = "controller"
    NODE = "node"
