"""Snapshot → Decision for agent_reports. Pure: reads no clock, calls nothing, logs nothing.

What is written to Proctor's own tables is the memory of a case, swapped by the agent's revision (docs/decisions/0008);
what reaches people is an action. Both are done in dry-run too: they are observation.
"""

from agent_reports.approvals import approval_cases
from agent_reports.enrolment import enrolment_case
from agent_reports.housekeeping import policy_cases, unknown_cases
from agent_reports.reports import report_cases
from agent_reports.silence import state_cases, sweep_cases
from agent_reports.snapshot import EnrolmentSeen, ReportSeen, Snapshot
from agent_reports.verdicts import dropped_case
from proctor.domain.decision import Case, Decision


def decide(snapshot: Snapshot) -> Decision:
    """Everything this evaluation concludes."""
    cases: list[Case] = []
    if snapshot.dropped is not None:
        cases.append(dropped_case({snapshot.dropped: 1}))
    match snapshot.message:
        case ReportSeen() as report:
            cases += report_cases(report, snapshot)
        case EnrolmentSeen() as enrolment:
            cases.append(enrolment_case(enrolment, snapshot))
        case None:
            pass
    for watch in snapshot.watches:
        cases += sweep_cases(watch, snapshot) if snapshot.is_sweep else state_cases(watch, snapshot)
    cases += [*approval_cases(snapshot), *policy_cases(snapshot), *unknown_cases(snapshot)]
    clusters = {verdict.cluster for case in cases for verdict in case.verdicts}
    rails = {cluster: snapshot.policy(cluster).rails() for cluster in clusters}
    return Decision(cases=tuple(cases), rails=rails)
