"""The commands that explain: why a session, a person, a job, an account, a partition."""

from proctor_cli import why_job, why_person, why_places, why_session
from proctor_cli.parser_parts import Commands, add_command, add_group


def add_why(group: Commands) -> None:
    """Add all of them."""
    why = add_group(group, "why", "Explain what was decided")
    _add_sessions(why)
    _add_slurm(why)


def _add_sessions(why: Commands) -> None:
    session = add_command(
        why,
        "session",
        why_session.run,
        "Explain the latest verdict on a session.\n"
        "Rule, reason, what it was based on, what became of it, and earlier verdicts; kept 90 days.",
        examples=["why session ada@uni.example-t59j8gpq2ta8hniozstbnphqs8"],
    )
    session.add_argument("session_id", metavar="SESSION_ID", help="as DescribeSessions shows it")
    person = add_command(
        why,
        "person",
        why_person.run,
        "Explain what holds for a person.\n"
        "Directory row, caps with their sources, sessions in the ledger, exemptions, latest ends.",
        examples=["why person ada", "why person owner:arn:aws:sts::123456789012:assumed-role/Admin/eve"],
    )
    person.add_argument(
        "holder", metavar="LOGIN", help="login name, or owner:<ARN> for an owner in no directory row"
    )


def _add_slurm(why: Commands) -> None:
    job = add_command(
        why,
        "job",
        why_job.run,
        "Explain why a Slurm job waits.\n"
        "Which hold stops it, for which budget, its three numbers (settled, in flight, committed) with their\n"
        "age, and what would release it; or what Slurm itself says. Reads AWS Budgets with your credentials.",
        examples=["why job 4711", "why job 4711_3 --cluster gpu"],
    )
    job.add_argument("job_id", metavar="JOB_ID", help="as squeue shows it; a task of an array as 4711_3")
    account = add_command(
        why,
        "account",
        why_places.account,
        "Explain what holds a Slurm account.\n"
        "Holds on it and on the accounts above it, the budgets that govern it, and what would release it.",
        examples=["why account lab1"],
    )
    account.add_argument("account", metavar="NAME", help="Slurm account")
    partition = add_command(
        why,
        "partition",
        why_places.partition,
        "Explain what holds a partition.\n"
        "Holds on it, on its QOS and on its nodes, the budgets that govern it, and what would release it.",
        examples=["why partition gpu"],
    )
    partition.add_argument("partition", metavar="NAME", help="Slurm partition")
    for added in (job, account, partition):
        added.add_argument(
            "--cluster", metavar="C", help="one governed cluster (default: whichever knows it)"
        )
