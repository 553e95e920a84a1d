"""When all has settled: no lost hold, no stale hold, what was there before is back, and people were told."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from proctor.domain.agent_protocol import OUR_RESERVATION_PREFIX
from tests.simulation.budgets import oracle
from tests.simulation.budgets.checks_acts import as_text
from tests.simulation.budgets.scenario import CLUSTER, HOUR
from tests.simulation.budgets.slurm import FIELDS, NODE_SPANS, PARENTS, PEOPLE, above, below
from tests.simulation.core.violation import ViolationError

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus

_STRICTER = {"DOWN", "INACTIVE", "DRAIN"}
_MARGIN = 2.0


def check_settled(campus: "Campus") -> None:
    """Everything that must hold in the end."""
    holding = {name for name in campus.scenario.budgets if campus.memory.get(f"{CLUSTER}#{name}").is_holding}
    _states_are_right(campus, holding)
    _accounts(campus, holding)
    _partitions(campus, holding)
    _reservations(campus, holding)
    _nobody_waits(campus, holding)
    _people_were_told(campus, holding)


def _states_are_right(campus: "Campus", holding: set[str]) -> None:
    """By the oracle, from the present rows: whoever is far over holds, whoever is far under does not, but by hand."""
    now, view = (
        campus.true_at(),
        campus.observed.view(CLUSTER, usage_since=campus.scenario.start_at - timedelta(days=400)),
    )
    for name in sorted(campus.scenario.budgets):
        raw, memory = campus.raw_budget(name), campus.memory.get(f"{CLUSTER}#{name}")
        if memory.hand is not None or "allocation" not in raw or raw["allocation"].get("bill"):
            continue
        before = now - timedelta(minutes=15)
        if _is_over(raw, now):
            # Whoever ended within the last sweeps may hold still, or no more.
            if _is_over(raw, before) and name in holding:
                raise ViolationError("stale hold", f"{name} is over and holds", [name])
            continue
        found = oracle.judge(raw, None, view.usage, is_fresh=True, accepted=set(), now=before)
        percent = found.percent
        if (
            memory.doubt is not None
            or percent is None
            or found.span is None
            or now - found.span[0] < timedelta(hours=1)
        ):
            continue
        if percent >= oracle.HOLD_AT + _MARGIN and name not in holding:
            raise ViolationError("lost hold", f"{name} is at {percent:.1f} % and does not hold", [name])
        if percent < oracle.RELEASE_BELOW - _MARGIN and name in holding:
            raise ViolationError("stale hold", f"{name} is at {percent:.1f} % and holds", [name])


def _is_over(raw: dict[str, Any], at: datetime) -> bool:
    """Whether the budget is outside its time."""
    return oracle.period_of(raw, at, "") is None


def _wanted_accounts(campus: "Campus", holding: set[str]) -> set[str]:
    """Accounts that have to be closed: of budgets that hold, but what exemptions open."""
    exempt: set[str] = set()
    for row in campus.exemptions.rows:
        if campus.true_at() < row.ends_at:
            exempt |= (
                {row.name} if row.kind.value == "account" else {a for a, p in PEOPLE.items() if row.name in p}
            )
    open_now = {name for name in PARENTS if exempt & set(above(name))}
    wanted = {
        a
        for n in holding
        if "account" in campus.raw_budget(n)
        for a in below(campus.raw_budget(n)["account"])
    }
    return {name for name in wanted if name not in open_now and not (below(name) & open_now)}


def _accounts(campus: "Campus", holding: set[str]) -> None:
    slurm, wanted = campus.slurm, _wanted_accounts(campus, holding)
    for name in sorted(PARENTS):
        is_free = name == "bio" and campus.scenario.voids == "both"
        if name in wanted and slurm.is_enforced and not is_free and not slurm.is_account_closed(name):
            raise ViolationError("lost hold", f"account {name} has to be held and is not", [name])
        if name in wanted and (is_free or not slurm.is_enforced) and not _has_alarm(campus, name):
            raise ViolationError("hold that can't bind", f"nobody was told that {name} can't be held", [name])
        for field in FIELDS:
            now, before = as_text(slurm.limits[name][field]), campus.commands.admin[name, field]
            if now != before and not set(above(name)) & wanted:
                raise ViolationError("stale hold", f"{field} of {name} is {now}, and was {before}", [name])


def _has_alarm(campus: "Campus", account: str) -> bool:
    if any("cannot bind" in notice.headline for notice in campus.operators.published):
        return True
    spans = (campus.scenario.pause, campus.scenario.dry_run)
    return any(spans) or not any(sk.startswith(f"account#{account}") for _, sk in campus.intents.items)


def _partitions(campus: "Campus", holding: set[str]) -> None:
    wanted = _wanted_places(campus, holding, "partition")
    for name in sorted(NODE_SPANS):
        now, before = campus.slurm.states[name], campus.commands.admin[name, "State"]
        if name in wanted and now not in _STRICTER:
            raise ViolationError("lost hold", f"partition {name} has to be held and is {now}", [name])
        if name not in wanted and now != before:
            raise ViolationError("stale hold", f"partition {name} is {now}, and was {before}", [name])


def _wanted_places(campus: "Campus", holding: set[str], level: str) -> set[str]:
    """Partitions to be held; an exemption of an account refuses them all."""
    if any(campus.true_at() < row.ends_at for row in campus.exemptions.rows):
        return set()
    raw = [campus.raw_budget(name) for name in sorted(holding)]
    return {p for one in raw if one.get("hold", {}).get("level") == level for p in one["partitions"]}


def _reservations(campus: "Campus", holding: set[str]) -> None:
    wanted = {NODE_SPANS[name] for name in _wanted_places(campus, holding, "nodes")}
    ours = {n: v for n, v in campus.slurm.reservations.items() if n.startswith(OUR_RESERVATION_PREFIX)}
    if wanted - set(ours.values()):
        raise ViolationError("lost hold", f"{', '.join(wanted)} has to be reserved", ["reservation"])
    if set(ours.values()) - wanted:
        raise ViolationError("stale hold", f"{', '.join(ours)} is left", ["reservation"])


def _nobody_waits(campus: "Campus", holding: set[str]) -> None:
    """Under account holds no job of another account waits; no running job has ended before its time."""
    held = {name for name in PARENTS if set(above(name)) & _wanted_accounts(campus, holding)}
    places = _wanted_places(campus, holding, "partition") | _wanted_places(campus, holding, "nodes")
    campus.slurm.schedule()
    for job in campus.slurm.jobs:
        why = campus.slurm.why_waiting(job.account, job.partition, job.qos)
        is_admins = campus.commands.admin[job.partition, "State"] != "UP" or any(
            campus.commands.admin[name, "GrpJobs"] == "0" for name in above(job.account)
        )
        if (
            job.start is None
            and why
            and job.account not in held
            and job.partition not in places
            and not is_admins
        ):
            raise ViolationError("innocent", f"job {job.job_id} of {job.account} waits: {why}", [job.account])


def _people_were_told(campus: "Campus", holding: set[str]) -> None:
    """Whoever holds now: its owner has heard so, or no message could be sent within the hour after."""
    for name in sorted(holding):
        at, owner = campus.memory.changed_at.get(name), campus.raw_budget(name).get("owner")
        if at is None or owner is None or _could_not_tell(campus, at):
            continue
        headlines = {f"Budget {name}: new jobs {verb} held" for verb in ("are", "should be")}
        if not any(
            head in headlines and when >= at - 1 and owner in mail for when, mail, head in campus.mail.at
        ):
            raise ViolationError("2 told", f"{owner} was never told that {name} holds", [name])


def _could_not_tell(campus: "Campus", at: float) -> bool:
    """No mail goes out in a pause and in dry-run; a storm, a wrong clock or crashes may last for the hour of telling."""
    scenario = campus.scenario
    spans = [s for s in (scenario.pause, scenario.dry_run, scenario.rates.storm) if s]
    spans += [(start, end) for start, end, _ in scenario.excursions]
    was_swept = any(at < began < at + HOUR - 60 for began in campus.swept)
    return not was_swept or any(start - 61 <= at + HOUR and at <= end for start, end in spans)
