# SPDX-License-Identifier: MIT
"""The readers of NPY, NPZ and CSV against NumPy and pandas: what both read is bit-identical, and what only they read is
refused with a message (docs/data.md lists it). Random files come from a seed that a failure prints."""
import ctypes
import io
import os
import random
import unittest
import warnings
import zipfile

import numpy as np

from sparc._library import _candidates, sparc_dataset_info, sparc_read_options, sparc_sample

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas
except ImportError as error:
    pandas, missing_pandas = None, f"pandas is not installed: {error}"
else:
    missing_pandas = ""

SEED = int(os.environ.get("SPARC_SEED", random.SystemRandom().randrange(2**32)))
ROUNDS = int(os.environ.get("SPARC_ROUNDS", 60))

library = ctypes.CDLL(_candidates()[0])
library.sparc_dataset_parse.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
library.sparc_error.restype = ctypes.c_char_p
library.sparc_dataset_info_of.restype = sparc_dataset_info
library.sparc_dataset_example.restype = sparc_sample


class Refused(Exception):
    pass


def read(data, name, **options):
    """The series [T, C] and the labels (None: none) of a file."""
    given = sparc_read_options(**options)
    handle = ctypes.c_void_p()
    status = library.sparc_dataset_parse(data, len(data), name.encode(), ctypes.byref(given), ctypes.byref(handle))
    if status != 0:
        raise Refused(library.sparc_error().decode())
    series, labels, info = [], [], library.sparc_dataset_info_of(handle)
    for i in range(info.count):
        example = library.sparc_dataset_example(handle, i)
        series.append(np.ctypeslib.as_array(example.x, (example.length, info.channels)).copy())
        labels.append(info.class_names[example.label].decode() if example.label >= 0 else None)
    library.sparc_dataset_free(handle)
    return series, labels


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, allow_pickle=True)
    return out.getvalue()


class Readers(unittest.TestCase):

    def setUp(self):
        self.random = np.random.default_rng(SEED)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            print(f"SPARC_SEED={SEED}")

    def same(self, series, expected, what):
        expected = np.asarray(expected)
        expected = expected.reshape(expected.shape[0], expected.shape[1], -1)
        with np.errstate(all="ignore"):
            expected = expected.astype(np.float32)
        got = np.stack(series)
        self.assertEqual(got.shape, expected.shape, what)
        differs = (got.view(np.uint32) != expected.view(np.uint32)) & ~(np.isnan(got) & np.isnan(expected))
        self.assertFalse(differs.any(), f"{what}: {got[differs][:3]} instead of {expected[differs][:3]}")

    def refused(self, data, name, message, **options):
        with self.assertRaises(Refused, msg=name) as raised:
            read(data, name, **options)
        self.assertIn(message, str(raised.exception))
        self.assertIn(name, str(raised.exception))

    def array(self, dtype, shape):
        kind = np.dtype(dtype)
        if kind.kind == "f":
            scale = 1000 if kind.itemsize == 2 else 1e6
            values = (self.random.standard_normal(shape) * scale).astype(kind)
            values[self.random.random(shape) < 0.05] = np.nan
            values.reshape(-1)[0] = 1  # a series has a value
            return values
        if kind.kind == "b":
            return self.random.random(shape) < 0.5
        info = np.iinfo(kind)
        return self.random.integers(info.min, info.max, shape, dtype=kind.newbyteorder("="), endpoint=True).astype(kind)


class Arrays(Readers):
    TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]

    def test_arrays(self):
        for _ in range(ROUNDS):
            dtype = self.random.choice(["<", ">"]) + self.random.choice(self.TYPES)
            shape = tuple(int(n) for n in self.random.integers(1, 7, self.random.integers(2, 4)))
            array = self.array(dtype, shape)
            if array.dtype.kind == "f" and np.isnan(array.reshape(shape[0], -1)).all(axis=1).any():
                continue  # a series without any value is refused, see below
            order, version = self.random.choice(["C", "F"]), [None, (1, 0), (2, 0), (3, 0)][self.random.integers(4)]
            stored = np.asarray(array, order=order)
            packed = npy(stored, version)
            what = f"{dtype} {shape} {order} {version}"
            self.same(read(packed, "a.npy", unlabelled=1)[0], np.load(io.BytesIO(packed)), what)
            out = io.BytesIO()
            (np.savez if self.random.random() < 0.5 else np.savez_compressed)(out, x=stored)
            self.same(read(out.getvalue(), "a.npz", unlabelled=1)[0], np.load(io.BytesIO(out.getvalue()))["x"], what)

    def test_labels(self):
        x = np.ones((3, 2), "f4")
        for labels in (["b", "a", "ä"], [3, -1, 2], np.array([7, 8, 9], ">u2"), np.array([b"x", b"yy", b"x"]),
                       np.array([1.0, 2.0, 1.0]), np.array([[1], [0], [1]])):
            y = np.asarray(labels)
            out = io.BytesIO()
            np.savez(out, x=x, y=y)
            stored = np.load(io.BytesIO(out.getvalue()))["y"].reshape(3)
            texts = [v.decode() if isinstance(v, bytes) else str(v).removesuffix(".0") for v in stored.tolist()]
            self.assertEqual(read(out.getvalue(), "a.npz")[1], texts)

    def test_large_whole_numbers_are_rounded_once(self):
        # through a double, 2^53 + ... would be rounded twice
        array = np.array([[2**62 + 2**38 + 1, 2**24 + 1, -(2**62) - 2**38 - 1]], "i8")
        self.same(read(npy(array), "a.npy", unlabelled=1)[0], array, "i8")
        array = np.array([[2**63 + 2**39 + 1, 2**64 - 1]], "u8")
        self.same(read(npy(array), "a.npy", unlabelled=1)[0], array, "u8")

    def archive(self, members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the same name
            for name, array in members:
                archive.writestr(name, npy(array))
        return out.getvalue()

    def test_members_of_one_name(self):
        first, second = np.full((2, 3), 1.0), np.full((2, 3), 2.0)
        for names in (["x.npy", "x.npy"], ["x", "x.npy"], ["x.npy", "x"], ["x.npy", "x", "x.npy"]):
            packed = self.archive(zip(names, [first, second, first]))
            self.same(read(packed, "a.npz", unlabelled=1)[0], np.load(io.BytesIO(packed))["x"], names)

    def test_what_only_numpy_reads(self):
        for array, message in (
                (np.zeros((0, 3)), "[0, 3]"), (np.zeros((3, 0)), "[3, 0]"), (np.zeros((2, 0, 2)), "[2, 0, 2]"),
                (np.zeros(3), "expected [N, T] or [N, T, C]"), (np.array(1.0), "expected [N, T] or [N, T, C]"),
                (np.zeros((1, 1, 1, 1)), "expected [N, T] or [N, T, C]"), (np.zeros((2, 2), "c8"), "the element type is"),
                (np.zeros((2, 2), "M8[s]"), "the element type is"), (np.zeros((2, 2), "f4,i4"), "descr"),
                (np.zeros((2, 2), np.longdouble), "the element type is"), (np.zeros((2, 2), object), "Python objects"),
                (np.array([[1, np.inf]]), "expected a finite number"), (np.array([[1, 1e39]]), "expected a finite number"),
                (np.array([[1.0, 2.0], [np.nan, np.nan]]), "missing"), (np.array([["a", "b"]]), "")):
            self.refused(npy(array), "a.npy", message, unlabelled=1)
            out = io.BytesIO()
            np.savez(out, x=array, allow_pickle=True) if array.dtype == object else np.savez(out, x=array)
            self.refused(out.getvalue(), "a.npz", message, unlabelled=1)


@unittest.skipIf(pandas is None, missing_pandas)
class Tables(Readers):
    MISSING = ["", "NA", "NaN", "nan", "-nan", "-NaN", "N/A", "n/a", "#N/A", "#NA", "<NA>", "null", "NULL", "None"]
    LABELS = ["a", "b c", 'say "hi"', "x,y", "ä", "two\nlines", "semi;colon", "tab\tbed"]

    def pandas(self, data, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions need no float_precision
            table = pandas.read_csv(io.BytesIO(data), float_precision="round_trip", **options)
        values = table.iloc[:, :-1].astype(np.float64).to_numpy()
        return values, [str(v) for v in table.iloc[:, -1]]

    def number(self, value):
        plain = np.format_float_positional(value, unique=True, trim="-")
        scientific = np.format_float_scientific(value, unique=True, trim="-", exp_digits=1)
        forms = [plain, scientific, scientific.upper(), "+" + plain if value >= 0 else plain, plain + "." * ("." not in plain)]
        return forms[self.random.integers(len(forms))]

    def quoted(self, text, separator):
        needs = any(c in text for c in '"\r\n') or separator in text
        return '"' + text.replace('"', '""') + '"' if needs or self.random.random() < 0.2 else text

    def table(self, rows, columns, separator, newline):
        labels = [self.LABELS[i] for i in self.random.integers(len(self.LABELS), size=rows)]
        values = (self.random.standard_normal((rows, columns)) * 10.0**self.random.integers(-8, 8)).astype(np.float32)
        # the separator is the most frequent one of the first line, so others are in quotes
        lines = [separator.join(f'"v {i}, no"' for i in range(columns)) + separator + "label"]
        for row, label in zip(values, labels):
            fields = [self.number(v) for v in row]
            if columns > 1 and self.random.random() < 0.5:
                fields[self.random.integers(1, columns)] = self.MISSING[self.random.integers(len(self.MISSING))]
            lines.append(separator.join([self.quoted(f, separator) for f in fields] + [self.quoted(label, separator)]))
        return newline.join(lines) + newline * int(self.random.integers(2))

    def test_tables(self):
        for _ in range(ROUNDS):
            separator, newline = self.random.choice([",", ";", "\t"]), self.random.choice(["\n", "\r\n"])
            text = self.table(int(self.random.integers(1, 9)), int(self.random.integers(1, 9)), separator, newline)
            data = (b"\xef\xbb\xbf" if self.random.random() < 0.3 else b"") + text.encode()
            values, labels = self.pandas(data, sep=separator)
            series, ours = read(data, "a.csv", header=1)
            self.same(series, values, text)
            self.assertEqual(ours, labels, text)

    def test_thousands_of_columns(self):
        text = self.table(3, 4000, ",", "\n")
        values, labels = self.pandas(text.encode())
        series, ours = read(text.encode(), "a.csv", header=1)
        self.same(series, values, "4000 columns")
        self.assertEqual(ours, labels)

    def test_blank_lines_and_names_twice(self):
        data = b"a,a,y\n\n1,2,p\n   \n3,4,q\n\n"
        values, labels = self.pandas(data.replace(b"   ", b""))
        series, ours = read(data, "a.csv", header=1)
        self.same(series, values, "blank lines")
        self.assertEqual(ours, labels)

    def test_what_only_pandas_reads(self):
        for text, message in (
                ("a,b,y\n1,2,p\n1,p\n", "2 fields, expected 3"),  # filled up with NaN
                ("a,y\n1,2,p\n", "3 fields, expected 2"),  # the first column becomes the index
                ('a,b,y\n"1"5,2,p\n', "quote"),  # read as 15
                ("a,b,y\n1,inf,p\n", "expected a finite number"), ("a,b,y\n1,1e39,p\n", "expected a finite number"),
                ("a,b,y\n1,True,p\n", "column 2 ('b') is 'True'"), ("a,b,y\n1,-1.#IND,p\n", "column 2 ('b') is '-1.#IND'"),
                ("a,b,y\n,NA,p\n", "all 2 values are missing"), ("a,b,y\n", "no rows after the header"),
                ("a,b,y\n1,2,p\n1,2,\"q\n", "quote")):
            self.refused(text.encode(), "a.csv", message, header=1)


if __name__ == "__main__":
    unittest.main()
