"""What a run found: report.json for programs, report.html for people."""

from corp.report.build import build_report

__all__ = ["build_report"]
