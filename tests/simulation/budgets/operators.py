"""Administrators, operators and accidents: what they do to Slurm, to the agent, to budgets."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from proctor.domain.agent_protocol import LimitAccount, Outcome, SetPartitionState, controller_pk
from proctor.domain.budgets_exemptions import BudgetExemption, ExemptKind
from tests.simulation.budgets.checks_acts import as_text
from tests.simulation.budgets.scenario import CLUSTER
from tests.simulation.budgets.setting import NODE
from tests.simulation.core.violation import ViolationError

if TYPE_CHECKING:
    from tests.simulation.budgets.campus import Campus

REHELD_SECONDS = 30.0
"""5 s until the agent looks, 60 s for a cached setting, and the time that its commands take."""

_ADMIN_REASON = "bad fan, jane"


class Operators:
    """Everything that people do, at the times of the scenario."""

    def __init__(self, campus: "Campus") -> None:
        self._campus = campus
        self._events = 0

    def start(self) -> None:
        """Put everything on the clock."""
        campus, scenario, after = self._campus, self._campus.scenario, self._campus.scheduler.after
        for at, action, budget, hours in scenario.orders:
            if budget in scenario.budgets:
                after(at, lambda a=action, b=budget, h=hours: campus.order(a, b, h))  # type: ignore[misc]
        for at, kind in scenario.disturbances:
            after(at, lambda k=kind: self._disturb(k))  # type: ignore[misc]
        for kind, start, end in scenario.agent_gaps:
            after(start, lambda k=kind: self._begin_gap(k))  # type: ignore[misc]
            after(end, lambda k=kind: self._end_gap(k))  # type: ignore[misc]
        if scenario.pause is not None:
            after(scenario.pause[0], lambda: campus.pause.paused.update({CLUSTER: "maintenance"}))
            after(scenario.pause[1], campus.pause.paused.clear)
        if scenario.exemption is not None:
            after(scenario.exemption[0], self._exempt)
        if scenario.raised is not None and scenario.raised[1] in scenario.budgets:
            after(
                scenario.raised[0], lambda: self._raise_limit(scenario.raised[1] if scenario.raised else "")
            )

    def tidy_up(self) -> None:
        """The day's accidents are over; operators answer what waits for them."""
        campus = self._campus
        campus.slurm.is_hung = False
        campus.agent.is_connected = True
        if not campus.agent.is_alive:
            campus.agent.start()
        campus.agent.flush()
        campus.scheduler.after(1300.0, self._approve_all)
        campus.slurm_changed()

    def _approve_all(self) -> None:
        for name in sorted(self._campus.scenario.budgets):
            if self._campus.memory.get(f"{CLUSTER}#{name}").doubt is not None:
                self._campus.order("ApproveBudget", name)

    def _disturb(self, kind: str) -> None:
        campus = self._campus
        self._events += 1
        if campus.slurm.is_hung:
            return
        campus.story.tell("Slurm", kind)
        match kind:
            case "reconfigure":
                campus.slurm.reconfigure()
            case "restart":
                campus.slurm.reconfigure()
                campus.slurm.is_hung = True
                campus.scheduler.after(20.0, self._is_back)
                return
            case "someone UP" | "limit undone":
                self._undo(is_state=kind == "someone UP")
            case _:
                self._administer(kind)
        campus.slurm_changed()
        self._expect_reheld()

    def _undo(self, *, is_state: bool) -> None:
        """Somebody puts back what was there before us."""
        slurm, admin = self._campus.slurm, self._campus.commands.admin
        for name, field in self._campus.commands.ours:
            before = admin[name, field]
            if field == "State" and is_state and before == "UP":
                slurm.states[name] = "UP"
            elif field != "State" and not is_state:
                slurm.limits[name][field] = None if before == "-1" else int(before)

    def _administer(self, kind: str) -> None:
        campus = self._campus
        slurm, ours, admin = campus.slurm, campus.commands.ours, campus.commands.admin
        if kind == "admin drain":
            state, reason = slurm.nodes[NODE]
            slurm.nodes[NODE] = ("idle", "") if reason == _ADMIN_REASON else ("drained", _ADMIN_REASON)
            campus.story.tell("administrator", f"{NODE} was {state} {reason}, is {slurm.nodes[NODE]}")
        elif kind == "admin partition" and not self._is_about("partition#gpu2"):
            slurm.conf["gpu2"] = slurm.states["gpu2"] = "INACTIVE" if slurm.conf["gpu2"] == "UP" else "UP"
            admin["gpu2", "State"] = slurm.conf["gpu2"]
        elif kind == "admin limit":
            chem = slurm.limits["chem"]
            chem["GrpJobs"] = None if chem["GrpJobs"] == 0 else 0
            admin["chem", "GrpJobs"] = as_text(chem["GrpJobs"])
            if ("bio", "GrpJobs") not in ours and not self._is_about("account#bio"):
                # Also an operator's own hold, on an account that a budget may have to hold later.
                slurm.limits["bio"]["GrpJobs"] = 0 if slurm.limits["bio"]["GrpJobs"] != 0 else None
                admin["bio", "GrpJobs"] = as_text(slurm.limits["bio"]["GrpJobs"])

    def _is_about(self, sk: str) -> bool:
        """Whether a value set now can't be told from ours, as the documentation says.

        So it is while a hold stands or is not known to be let go, and for an agent that will lose its records afterwards.
        """
        campus = self._campus
        stored, result = campus.intents.get(controller_pk(CLUSTER), sk), campus.agent.results.get(sk)
        if stored is None:
            return False
        is_let_go = result is not None and result.rev >= stored.rev and result.outcome is Outcome.RELEASED
        gaps = campus.scenario.agent_gaps
        loses_records = any(kind == "reinstalled" and end > campus.scheduler.now for kind, _, end in gaps)
        return stored.is_held or not is_let_go or loses_records

    def _is_back(self) -> None:
        self._campus.slurm.is_hung = False
        self._campus.slurm_changed()
        self._expect_reheld()

    def _begin_gap(self, kind: str) -> None:
        campus = self._campus
        campus.story.tell("agent", f"gap begins: {kind}")
        if kind == "network":
            campus.agent.is_connected = False
        elif kind == "hung":
            campus.slurm.is_hung = True
        else:
            campus.agent.kill()
            if kind == "reinstalled":
                campus.agent.files.texts.clear()

    def _end_gap(self, kind: str) -> None:
        campus = self._campus
        campus.story.tell("agent", f"gap ends: {kind}")
        if kind == "network":
            campus.agent.is_connected = True
            campus.agent.flush()
        elif kind == "hung":
            campus.slurm.is_hung = False
        elif not campus.agent.is_alive:
            campus.agent.start()
        campus.slurm_changed()

    def _exempt(self) -> None:
        campus = self._campus
        assert campus.scenario.exemption is not None
        start, end, kind, name = campus.scenario.exemption
        ends_at = campus.true_at() + timedelta(seconds=end - start)
        row = BudgetExemption(
            kind=ExemptKind(kind),
            name=name,
            ends_at=ends_at,
            granted_by="ops@uni.example",
            justification="deadline",
        )
        campus.exemptions.rows.append(row)
        campus.story.tell("operator", f"exempts {kind} {name}")

    def _raise_limit(self, name: str) -> None:
        campus, raw = self._campus, self._campus.raw_budget(name)
        campus.story.tell("operator", f"raises the limit of {name}")
        if "allocation" in raw:
            raw["allocation"]["limit"] = round(raw["allocation"]["limit"] * 1.5)
            campus.write_budget(name, raw)
            return
        for key in ("bill", "daily"):
            if raw["aws_budget"] == key:
                bill = campus.billing.bills[key]
                campus.billing.bills[key] = replace(bill, limit=bill.limit * 3 / 2)

    def _expect_reheld(self) -> None:
        """Invariant 4: what is held now is in force again in a while, unless the agent or slurmctld was away."""
        campus = self._campus
        pk, life = controller_pk(CLUSTER), campus.agent.life
        held = {sk: i.rev for (p, sk), i in campus.intents.items.items() if p == pk and i.is_held}
        held = {
            sk: rev for sk, rev in held.items() if (known := campus.agent.book.get(sk)) and known.rev == rev
        }
        event = self._events

        def check() -> None:
            if (
                life != campus.agent.life
                or not campus.agent.is_alive
                or self._events != event
                or campus.slurm.is_hung
            ):
                return
            for sk, rev in held.items():
                now = campus.intents.get(pk, sk)
                if now is not None and now.rev == rev and not self._is_in_force(now.verb):
                    text = f"{sk} is not in force again {REHELD_SECONDS:.0f} s after it was undone"
                    campus.scheduler.fail(ViolationError("4 re-asserted", text, [sk]))

        campus.scheduler.after(REHELD_SECONDS, check)

    def _is_in_force(self, verb: object) -> bool:
        slurm = self._campus.slurm
        if isinstance(verb, SetPartitionState):
            return slurm.states[verb.partition] in {verb.state.value, "INACTIVE"}
        if isinstance(verb, LimitAccount):
            is_free = not slurm.is_enforced or (
                self._campus.scenario.voids == "both" and verb.account == "bio"
            )
            return is_free or slurm.is_account_closed(verb.account)
        return True
