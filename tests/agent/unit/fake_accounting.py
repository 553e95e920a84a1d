"""Slurm's commands with a database behind them."""

from collections.abc import Sequence

from tests.agent.unit.fake_commands import CONFIG, FakeCommands

ASSOCIATIONS, QOS = ("show", "assoc"), ("show", "qos")
_DATABASE = {
    "AccountingStorageEnforce": "associations,limits,qos",
    "AccountingStorageType": "accounting_storage/slurmdbd",
}


class FakeAccounting(FakeCommands):
    """Slurm with a database: accounts with their GrpJobs, and one QOS."""

    def __init__(self) -> None:
        super().__init__(
            [
                f"{name} = {_DATABASE.get(name, value)}"
                for name, _, value in (c.partition(" = ") for c in CONFIG)
            ]
        )
        self.accounts: dict[str, str] = {"physics": ""}
        self.qos_line = "normal||||"

    def readings(self) -> int:
        """How often all associations were read."""
        return len([argv for argv in self.asked if argv[3:5] == ASSOCIATIONS])

    def run(self, argv: Sequence[str], seconds: float) -> str:
        words = dict(word.partition("=")[::2] for word in argv)
        if "name" in words:
            self.accounts[words["name"]] = words["GrpJobs"]
        return super().run(argv, seconds)

    def _answer(self, argv: tuple[str, ...]) -> list[str]:
        if argv[3:5] == ASSOCIATIONS:
            return [f"{name}|||root|{limit}|||normal" for name, limit in self.accounts.items()]
        if argv[3:5] == QOS:
            return [self.qos_line]
        if "assoc_mgr" in argv:
            return [
                f"ClusterName=uni Account={name} UserName= GrpJobs={limit or 'N'}(0) GrpSubmitJobs=N(0) GrpTRES=node=N(0)"
                for name, limit in self.accounts.items()
            ]
        return super()._answer(argv)
