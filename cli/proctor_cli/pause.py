"""`proctor pause` and `proctor resume`: stop everything on one cluster at once, and go on."""

import argparse

from proctor.adapters.parameters import NOT_PAUSED
from proctor.domain.errors import TransientError
from proctor.domain.policy import pause_parameter
from proctor_cli.console import clean, shown_time
from proctor_cli.exits import Exit, UsageError
from proctor_cli.parameters import write_parameter
from proctor_cli.world import World

_REASON_AT_MOST = 512


def pause(args: argparse.Namespace, world: World) -> Exit:
    """Switch the cluster's pause on, with reason, caller and time, and read it back."""
    cluster = world.stack.cluster(args.cluster)
    reason = (args.reason or "no reason given").strip()
    if not reason or len(reason) > _REASON_AT_MOST or not reason.isprintable():
        raise UsageError(
            "--reason", args.reason, f"say why, in one line of 1 to {_REASON_AT_MOST} characters"
        )
    before = world.pause.paused_clusters().get(cluster)
    text = f"{reason} (by {world.caller}, {shown_time(world.clock())})"
    write_parameter(world.clients, pause_parameter(cluster), text)
    if world.pause.paused_clusters().get(cluster) != text:
        raise TransientError(
            f"{cluster}: somebody else changed the pause at the same time; look with proctor status"
        )
    was = f" It was paused already: {clean(before)}." if before else ""
    world.console.answer(
        {"cluster": cluster, "paused": text, "before": before},
        f"{cluster} is paused: {text}.{was}\n"
        f"Everything is still decided and recorded there. Go on with: proctor resume {cluster}",
    )
    return Exit.OK


def resume(args: argparse.Namespace, world: World) -> Exit:
    """Switch it off again; a cluster that isn't paused is left alone."""
    cluster = world.stack.cluster(args.cluster)
    before = world.pause.paused_clusters().get(cluster)
    if before is None:
        text = f"{cluster} is not paused; nothing was changed."
    else:
        write_parameter(world.clients, pause_parameter(cluster), NOT_PAUSED)
        text = f"{cluster} goes on; it was paused: {clean(before)}."
    world.console.answer({"cluster": cluster, "paused": None, "before": before}, text)
    return Exit.OK
