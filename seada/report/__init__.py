"""Results for people: tables for the terminal, figures, CSV and one self-contained HTML page.

Nothing here imports matplotlib before a figure is drawn.
"""

from seada.report.write import write_report

__all__ = ["write_report"]
