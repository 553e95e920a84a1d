"""Every command line that changes Slurm, as argv lists. Nothing else in the agent makes one."""

from collections.abc import Mapping

from proctor.domain.agent_protocol.names import OUR_REASON, OUR_REASON_PREFIX

Argv = tuple[str, ...]


def set_partition_state(partition: str, state: str) -> Argv:
    """scontrol(1): update PartitionName= State=."""
    return ("scontrol", "update", f"PartitionName={partition}", f"State={state}")


def _limit_words(values: Mapping[str, str]) -> list[str]:
    # GrpTRES=node=N changes only that entry of the list; -1 clears it.
    return [
        f"GrpTRES=node={value}" if field == "GrpTRES/node" else f"{field}={value}"
        for field, value in sorted(values.items())
    ]


def limit_account(cluster: str, account: str, values: Mapping[str, str]) -> Argv:
    """sacctmgr(1): modify account; `cluster` keeps other clusters of the same database out of it."""
    where = ("where", f"name={account}", f"cluster={cluster}")
    return ("sacctmgr", "-i", "-Q", "modify", "account", *where, "set", *_limit_words(values))


def limit_qos(qos: str, values: Mapping[str, str]) -> Argv:
    """sacctmgr(1): modify qos."""
    return ("sacctmgr", "-i", "-Q", "modify", "qos", "where", f"name={qos}", "set", *_limit_words(values))


def create_reservation(name: str, nodes: str) -> Argv:
    """scontrol(1): a maintenance reservation for root; running jobs are ignored, so they go on."""
    words = ("StartTime=now", "Duration=UNLIMITED", "Users=root", "Flags=MAINT,IGNORE_JOBS")
    return ("scontrol", "create", "reservation", f"ReservationName={name}", *words, f"Nodes={nodes}")


def update_reservation(name: str, nodes: str) -> Argv:
    """scontrol(1): the same reservation over other nodes."""
    return ("scontrol", "update", f"ReservationName={name}", f"Nodes={nodes}")


def delete_reservation(name: str) -> Argv:
    """scontrol(1): delete a reservation of ours."""
    return ("scontrol", "delete", f"ReservationName={name}")


def drain_node(node: str, reason: str) -> Argv:
    """scontrol(1): drain with a reason of ours."""
    if not OUR_REASON.fullmatch(reason):
        raise ValueError(f"reason {reason!r:.60} does not start with {OUR_REASON_PREFIX}")
    return ("scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}")


def resume_node(node: str) -> Argv:
    """scontrol(1): take jobs again."""
    return ("scontrol", "update", f"NodeName={node}", "State=RESUME")
