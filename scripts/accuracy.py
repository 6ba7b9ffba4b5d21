#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""accuracy.py: `sparc train` beside MiniRocket, 1-NN DTW and a GRU on small data sets (docs/accuracy.md).

    scripts/accuracy.py run LOG FOLDER...   append one JSON line per set, method and seed that LOG does not have
    scripts/accuracy.py table LOG           print the table of what is there

FOLDER holds data sets as SET/SET_TRAIN.* and SET/SET_TEST.*, in UCR text, gzip or not, or .ts. A run can be stopped and
started again at any time. SETS, METHODS and SEEDS restrict it; SPARC names the tool. One thread everywhere. A line has the
accuracy on the test part and the seconds that fitting took (of DTW: classifying).

The methods, the same for every set:

    sparc        `sparc train SET_TRAIN --official` with its defaults
    ridge        `sparc train SET_TRAIN --official --readout ridge`
    dtw          `sparc eval --baseline dtw --warping-window 1`: one nearest neighbour, no bound on warping; it has no seed
    minirocket   aeon's MiniRocketClassifier with its defaults: 10,000 features, standardised, ridge regression with the
                 alpha of logspace(-3, 3, 10) that leave-one-out prefers
    gru          torch: channels z-scored by the training part, one GRU of 128 units, mean over the steps, linear;
                 400 updates of Adam, rate 0.001, batches of 32, norm of gradients at most 1

Series of unequal length go on with their last value for MiniRocket; the others see lengths as they are.
"""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPARC = os.environ.get("SPARC", os.path.join(ROOT, "build/release/sparc"))
METHODS = ("minirocket", "dtw", "ridge", "sparc", "gru")
SEEDS = (0, 1, 2, 3, 4)


# ---- data ---------------------------------------------------------------------------------------


def lines_of(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as file:
        return [line.strip() for line in file if line.strip()]


def read(path):
    """Return series, each an array (channels, steps), and labels."""
    import numpy as np

    lines = lines_of(path)
    if "@data" not in (line.lower() for line in lines):
        rows = [line.split() for line in lines]
        return [np.array([row[1:]], dtype=np.float64) for row in rows], [str(float(row[0])) for row in rows]
    first = [line.lower() for line in lines].index("@data") + 1
    rows = [line.split(":") for line in lines[first:]]
    series = [np.array([channel.split(",") for channel in row[:-1]], dtype=np.float64) for row in rows]
    return series, [row[-1] for row in rows]


def padded(series, length):
    """Series as one array (rows, channels, length), each repeating its last value."""
    import numpy as np

    return np.stack([np.pad(one, ((0, 0), (0, length - one.shape[1])), mode="edge") for one in series])


class DataSet:
    def __init__(self, name, train, test):
        self.name, self.train_path, self.test_path = name, train, test

    def load(self):
        return read(self.train_path), read(self.test_path)


def data_sets(folders):
    found = {}
    for folder in folders:
        for train in sorted(glob.glob(os.path.join(folder, "*", "*_TRAIN.*"))):
            name = os.path.basename(train).split("_TRAIN.")[0]
            test = train.replace("_TRAIN.", "_TEST.")
            if os.path.exists(test):
                found[name] = DataSet(name, train, test)
    chosen = os.environ.get("SETS", "").split() or sorted(found, key=lambda name: os.path.getsize(found[name].train_path))
    return [found[name] for name in chosen]


# ---- methods: (data set, seed) to (accuracy, seconds) -------------------------------------------


def tool(*arguments):
    done = subprocess.run([SPARC, *arguments, "--json", "--quiet", "--threads", "1"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def sparc(data, seed, *options):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = tool("train", data.train_path, "--official", "--seed", str(seed), "--out", folder + "/run", *options)
    return result["test"]["accuracy"], time.monotonic() - begin


def ridge(data, seed):
    return sparc(data, seed, "--readout", "ridge")


def dtw(data, _):
    begin = time.monotonic()
    result = tool("eval", "--baseline", "dtw", "--warping-window", "1", data.train_path)
    return result["accuracy"], time.monotonic() - begin


def minirocket(data, seed):
    import numpy as np
    from aeon.classification.convolution_based import MiniRocketClassifier

    (x, y), (x_test, y_test) = data.load()
    length = max(one.shape[1] for one in x + x_test)
    x, x_test = padded(x, length).astype(np.float32), padded(x_test, length).astype(np.float32)
    begin = time.monotonic()
    model = MiniRocketClassifier(random_state=seed).fit(x, np.array(y))
    seconds = time.monotonic() - begin
    return float(np.mean(model.predict(x_test) == np.array(y_test))), seconds


def gru(data, seed):
    import numpy as np
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    (x, y), (x_test, y_test) = data.load()
    values = np.concatenate(x, axis=1)
    mean, stddev = values.mean(axis=1, keepdims=True), values.std(axis=1, keepdims=True) + 1e-8
    names = sorted(set(y))

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRU(len(mean), 128, batch_first=True)
            self.head = torch.nn.Linear(128, len(names))

        def forward(self, values, lengths):
            states, _ = self.cell(values)
            counts = (torch.arange(states.shape[1])[None, :] < lengths[:, None]).float()
            return self.head((states * counts[..., None]).sum(1) / lengths[:, None])

    def tensors(series):
        lengths = torch.tensor([one.shape[1] for one in series])
        array = padded([(one - mean) / stddev for one in series], int(lengths.max()))
        return torch.tensor(array.transpose(0, 2, 1), dtype=torch.float32), lengths

    (inputs, lengths), (inputs_test, lengths_test) = tensors(x), tensors(x_test)
    labels = torch.tensor([names.index(one) for one in y])
    begin = time.monotonic()
    network, order = Network(), torch.empty(0, dtype=torch.long)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.001)
    for _ in range(400):
        if len(order) < min(32, len(x)):
            order = torch.randperm(len(x))
        batch, order = order[:32], order[32:]
        loss = torch.nn.functional.cross_entropy(network(inputs[batch], lengths[batch]), labels[batch])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1)
        optimiser.step()
    seconds = time.monotonic() - begin
    with torch.no_grad():
        parts = zip(inputs_test.split(64), lengths_test.split(64))
        predicted = torch.cat([network(*part).argmax(1) for part in parts])
    return float(np.mean([names[i] == one for i, one in zip(predicted, y_test)])), seconds


# ---- runs ---------------------------------------------------------------------------------------


def log_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def run(log, folders):
    done = {(line["set"], line["method"], line["seed"]) for line in log_of(log)}
    seeds = [int(seed) for seed in os.environ.get("SEEDS", "").split()] or SEEDS
    for method in os.environ.get("METHODS", "").split() or METHODS:
        for data in data_sets(folders):
            for seed in seeds[:1] if method == "dtw" else seeds:
                if (data.name, method, seed) in done:
                    continue
                accuracy, seconds = globals()[method](data, seed)
                line = {"set": data.name, "method": method, "seed": seed, "accuracy": round(accuracy, 6), "seconds": round(seconds, 2)}
                print(json.dumps(line), flush=True)
                with open(log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


def table(log):
    """Per set and method the mean accuracy over seeds and the least seconds; below, means over the sets that all methods have."""
    lines = log_of(log)
    methods = [method for method in METHODS if any(line["method"] == method for line in lines)]
    names = sorted({line["set"] for line in lines})

    def values(name, method, key):
        return [line[key] for line in lines if (line["set"], line["method"]) == (name, method)]

    def mean(name, method):
        found = values(name, method, "accuracy")
        return sum(found) / len(found) if found else None

    print("| data | " + " | ".join(methods) + " |\n|---|" + "---|" * len(methods))
    for name in names:
        cells = [(mean(name, method), values(name, method, "seconds")) for method in methods]
        print(f"| {name} | " + " | ".join("" if a is None else f"{a:.4f}, {min(s):.1f} s ({len(s)})" for a, s in cells) + " |")
    for group in (methods, [method for method in methods if method != "gru"]):
        common = [name for name in names if all(mean(name, method) is not None for method in group)]
        cells = [sum(mean(name, method) for name in common) / max(1, len(common)) if method in group else None for method in methods]
        print(f"| mean of {len(common)} | " + " | ".join("" if a is None else f"{a:.4f}" for a in cells) + " |")


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "run":
        run(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        table(sys.argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
