# SPDX-License-Identifier: MIT
"""Classifies the series of a CSV file: one series a row, its label in the last column.

    python classify_csv.py series.csv

Without a file it makes one: slow and fast waves with noise.
"""
import argparse
import csv

import numpy as np
from sklearn.model_selection import cross_val_score

from sparc.sklearn import SparcClassifier


def waves(path, count=90, steps=50):
    """Writes an example of such a file."""
    rng = np.random.default_rng(1)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        for i in range(count):
            name, frequency = [("slow", 0.2), ("medium", 0.4), ("fast", 0.8)][i % 3]
            values = np.sin(frequency * np.arange(steps) + rng.uniform(0, 6)) + 0.3 * rng.standard_normal(steps)
            rows.writerow([*(f"{value:.4f}" for value in values), name])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--cell", default="sparc")
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--save", help="write a model for `sparc predict` here")
    arguments = parser.parse_args()
    if not arguments.file:
        arguments.file = "waves.csv"
        waves(arguments.file)

    with open(arguments.file, newline="") as file:
        rows = list(csv.reader(file))
    X = np.array([[float(value) for value in row[:-1]] for row in rows])
    y = np.array([row[-1] for row in rows])

    classifier = SparcClassifier(cell=arguments.cell, layers=2, modes=16, width=16, updates=arguments.updates, seed=1)
    scores = cross_val_score(classifier, X, y, cv=3)
    print(f"{len(X)} series of {X.shape[1]} steps in {len(set(y))} classes: accuracy {scores.mean():.3f}")
    if arguments.save:
        classifier.fit(X, y).save(arguments.save)


if __name__ == "__main__":
    main()
