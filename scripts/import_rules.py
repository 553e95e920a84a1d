"""An import-linter contract that lists what a module may import; everything else is refused.

A forbidden list forgets the next package; this one can't. It reads direct imports only, which is enough,
since each module on the way has a contract of its own.
"""

import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """`source_modules` import `allowed_modules` and nothing else; both with what is below them.

    source_modules: names, or patterns such as `*.decide`. One that matches no module keeps the rule, for a
        package that doesn't exist yet; `scripts.consistency` sees to it that an existing one is looked at.
    excluded_modules: sources that another contract speaks for.
    allowed_modules: names or patterns; `=.decide` is the `decide` in the importing module's own package.
    refused_modules: exceptions to `allowed_modules`, written the same way.
    standard_library: whether the standard library is allowed as well.
    """

    type_name = "only"

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    excluded_modules = fields.SetField(subfield=fields.StringField(), required=False, default=frozenset())
    allowed_modules = fields.SetField(subfield=fields.StringField())
    refused_modules = fields.SetField(subfield=fields.StringField(), required=False, default=frozenset())
    standard_library = fields.BooleanField(required=False, default=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001
        """Collect every direct import that isn't on the list."""
        refused: list[tuple[str, str, str]] = []
        for importer in sorted(self._sources(graph)):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if not self._is_allowed(importer, imported):
                    details = graph.get_import_details(importer=importer, imported=imported)
                    lines = ", ".join(str(detail["line_number"]) for detail in details)
                    refused.append((importer, imported, lines))
        return ContractCheck(kept=not refused, metadata={"refused": refused})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each refused import with its lines."""
        for importer, imported, lines in check.metadata["refused"]:
            output.print_error(f"{importer} may not import {imported} (line {lines})")
        output.new_line()

    def _sources(self, graph: ImportGraph) -> set[str]:
        sources: set[str] = set()
        for expression in self.source_modules:  # type: ignore[attr-defined]
            name = expression.expression
            found = graph.find_matching_modules(name) if "*" in name else {name} & graph.modules
            for module in found:
                sources |= {module, *graph.find_descendants(module)}
        excluded: set[str] = self.excluded_modules  # type: ignore[assignment]
        return {source for source in sources if not is_within(source, excluded, source)}

    def _is_allowed(self, importer: str, imported: str) -> bool:
        standard_library: object = self.standard_library
        if standard_library and imported.partition(".")[0] in sys.stdlib_module_names:
            return True
        allowed: set[str] = self.allowed_modules  # type: ignore[assignment]
        refused: set[str] = self.refused_modules  # type: ignore[assignment]
        return is_within(imported, allowed, importer) and not is_within(imported, refused, importer)


def is_within(module: str, patterns: Iterable[str], importer: str) -> bool:
    """Whether a pattern names a module or one above it; a leading `=` is the importer's own package."""
    top = importer.partition(".")[0]
    names = [top + pattern[1:] if pattern.startswith("=") else pattern for pattern in patterns]
    return any(fnmatchcase(module, name) or fnmatchcase(module, f"{name}.*") for name in names)
