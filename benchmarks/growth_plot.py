"""Plot what `growth.py families` measured: ``python benchmarks/growth_plot.py growth.png``."""

from __future__ import annotations

import json
import sys

from growth import FIGURES, GROWTH

MARKS = {"coordinate_reduction": "o-", "tree_augmented": "s--", "constraint_embedding": "^:"}


def plot(target: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    figure, axes = plt.subplots(2, len(figures), figsize=(4 * len(figures), 7), squeeze=False)
    for i, (family, runs) in enumerate(figures.items()):
        for row, (part, words) in enumerate(((1, "operations"), (2, "µs per evaluation"))):
            ax = axes[row][i]
            for name, points in runs.items():
                ax.loglog([p[0] for p in points], [p[part] for p in points], MARKS[name], label=name.replace("_", " "))
            first = runs["coordinate_reduction"][0]
            last = runs["coordinate_reduction"][-1]
            line = [first[part], first[part] * (last[0] / first[0]) ** GROWTH]
            ax.loglog([first[0], last[0]], line, "k:", lw=0.8, label=f"exponent {GROWTH}")
            ax.set_title(family if row == 0 else "")
            ax.set_xlabel("size")
            ax.set_ylabel(words if i == 0 else "")
            ax.grid(which="both", alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, dpi=150)


if __name__ == "__main__":
    plot(sys.argv[1] if len(sys.argv) > 1 else "growth.png")
