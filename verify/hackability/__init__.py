"""Can the verifier be fooled? A search over thousands of candidates is an optimiser against it.

    report = task.check()      # or `corp verify-task FILE`
    report.passed, report.finding("junk").worst

Probes that know no answer must not score, right answers must, and the same must come out every time.
docs/verify-task.md describes each.
"""

from verify.hackability.allowance import Allowance
from verify.hackability.report import Finding, Report, Status, Worst

__all__ = ["Allowance", "Finding", "Report", "Status", "Worst"]
