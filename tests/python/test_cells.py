# SPDX-License-Identifier: MIT
"""Cells over NumPy: steps are the sequence, gradients are differences, sensitivities are backpropagation."""
import unittest

import numpy as np
import sparc

SMALL = {"rglru": "block=4", "mamba3": "heads=2,head_dim=4,state=4"}


def cells():
    return [sparc.Cell(kind, inputs=3, modes=8, options=SMALL.get(kind)) for kind in sparc.kinds()]


class Cells(unittest.TestCase):

    def setUp(self):
        self.random = np.random.default_rng(1)

    def normal(self, *shape):
        return self.random.standard_normal(shape)

    def test_description(self):
        self.assertGreaterEqual(len(sparc.kinds()), 7)
        self.assertRegex(sparc.version(), r"^\d+\.\d+\.\d+$")
        for cell in cells():
            self.assertEqual(sum(b.size for b in cell.blocks), cell.sizes.params)
            params = cell.init(seed=2)
            blocks = cell.split(params)
            self.assertEqual([b.name for b in cell.blocks], list(blocks))
            next(iter(blocks.values()))[...] = 7
            self.assertEqual(params[0], 7)
        np.testing.assert_array_equal(cells()[0].init(seed=3), cells()[0].init(seed=3))

    def test_steps_are_the_sequence(self):
        for dtype, tolerance in ((np.float32, 2e-5), (np.float64, 1e-12)):
            for cell in cells():
                params, x = cell.init(dtype=dtype), self.normal(2, 20, 3)
                mask = np.ones((2, 20))
                mask[:, 9] = 0
                run = cell.forward(params, x, mask, threads=2)
                stream = cell.stream(params)
                y = np.array([stream.step(x[1, t], reset=t == 9) for t in range(20)])
                np.testing.assert_allclose(y, run.y[1], rtol=tolerance, atol=tolerance)
                np.testing.assert_allclose(stream.state, run.state_last[1], rtol=tolerance, atol=tolerance)

    def test_gradients_are_differences(self):
        for cell in cells():
            params, x = cell.init(dtype=np.float64), self.normal(2, 6, 3)
            state0, dy, dlast = (0.1 * self.normal(2, cell.sizes.state), self.normal(2, 6, cell.sizes.output),
                                 self.normal(2, cell.sizes.state))

            def loss(params, x, state0):
                run = cell.forward(params, x, state0=state0)
                return (run.y * dy).sum() + (run.state_last * dlast).sum()

            gradient = cell.forward(params, x, state0=state0).backward(dy, dlast)
            for i, g in enumerate(gradient):
                arguments = [params, x, state0]
                direction = self.normal(*arguments[i].shape)
                sides = []
                for side in (1e-6, -1e-6):
                    moved = list(arguments)
                    moved[i] = arguments[i] + side * direction
                    sides.append(loss(*moved))
                want = (sides[0] - sides[1]) / 2e-6
                self.assertAlmostEqual((g * direction).sum(), want, delta=1e-5 * (1 + abs(want)), msg=cell.kind)

    def test_sensitivities_are_backpropagation(self):
        tried = 0
        for cell in cells():
            params = cell.init(dtype=np.float64)
            if cell.sizes.trace == 0:
                with self.assertRaisesRegex(ValueError, "no RTRL form"):
                    cell.stream(params, sensitivities=True)
                continue
            tried += 1
            x, dy = self.normal(1, 15, 3), self.normal(1, 15, cell.sizes.output)
            stream = cell.stream(params, sensitivities=True)
            dparams = np.zeros(cell.sizes.params)
            for t in range(15):
                stream.step(x[0, t])
                stream.gradient(dy[0, t], dparams)
            np.testing.assert_allclose(dparams, cell.forward(params, x).backward(dy).params, rtol=1e-9, atol=1e-11)
        self.assertGreaterEqual(tried, 5)

    def test_chunks_and_threads(self):
        cell = cells()[0]
        params, x = cell.init(dtype=np.float64), self.normal(3, 40, 3)
        whole = cell.forward(params, x, threads=1).y
        np.testing.assert_array_equal(whole, cell.forward(params, x, threads=3).y)
        np.testing.assert_allclose(whole, cell.forward(params, x, chunk=7).y, rtol=1e-12, atol=1e-12)

    def test_many_shapes_and_lifetimes(self):
        runs = []
        for steps in range(1, 80):
            cell = cells()[0] if steps % 20 == 1 else cell
            runs.append(cell.forward(cell.init(), self.normal(1, steps, 3)))
        del cell
        for steps, run in enumerate(runs, 1):
            self.assertEqual(run.backward(np.ones_like(run.y)).x.shape, (1, steps, 3))

    def test_mistakes(self):
        with self.assertRaisesRegex(sparc.Error, "unknown cell kind 'spark'; did you mean 'sparc'") as caught:
            sparc.Cell("spark", 3, 8)
        self.assertEqual(caught.exception.status, "invalid")
        cell = cells()[0]
        params = cell.init()
        with self.assertRaisesRegex(ValueError, r"x has the shape \(1, 2, 4\), expected \(1, 2, 3\)"):
            cell.forward(params, np.zeros((1, 2, 4)))
        with self.assertRaisesRegex(ValueError, "dimensions"):
            cell.forward(params, np.zeros((2, 3)))
        with self.assertRaisesRegex(ValueError, "params has the shape"):
            cell.forward(params[1:], np.zeros((1, 2, 3)))
        with self.assertRaisesRegex(TypeError, "float16"):
            cell.prepare(params.astype(np.float16))
        with self.assertRaisesRegex(sparc.Error, "not finite|NaN|nan"):
            cell.prepare(np.full_like(params, np.nan))
        with self.assertRaisesRegex(ValueError, "style is 'wild'"):
            cell.init(style="wild")
        with self.assertRaisesRegex(ValueError, "no sensitivities"):
            cell.stream(params).gradient(np.zeros(cell.sizes.output))


if __name__ == "__main__":
    unittest.main()
