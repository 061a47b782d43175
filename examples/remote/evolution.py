"""Evolution strategies: workers try random changes of a policy on a small balancing task, the driver follows what helped.

    python3 examples/remote/evolution.py [WORKERS] [GENERATIONS]

Only seeds and scores travel: each worker draws the changes from seeds that the driver draws again.
"""
import math
import sys

import numpy

import cadre


class Pole:
    """A pole on a cart, to be kept upright for 200 steps."""

    def __init__(self, seed):
        self.state = numpy.random.default_rng(seed).uniform(-0.05, 0.05, 4)

    def step(self, push):
        x, v, angle, spin = self.state
        force = 10.0 if push > 0 else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        base = (force + 0.05 * spin * spin * sine) / 1.1
        turn = (9.8 * sine - cosine * base) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
        slide = base - 0.05 * turn * cosine / 1.1
        self.state = numpy.array([x + 0.02 * v, v + 0.02 * slide, angle + 0.02 * spin, spin + 0.02 * turn])
        return abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.21


def steps_upright(weights, seed):
    pole = Pole(seed)
    for step in range(200):
        if not pole.step(float(weights @ pole.state)):
            return step
    return 200


def change(seed):
    return numpy.random.default_rng(seed).normal(size=4)


@cadre.remote_class(cpus=0.1, wait=False)
class Worker:
    def try_changes(self, weights, seeds, width):
        """How long each change of the weights, and its opposite, keeps the pole up."""
        return [(steps_upright(weights + width * change(seed), seed), steps_upright(weights - width * change(seed), seed))
                for seed in seeds]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    generations = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    cadre.connect()
    workers = [Worker() for _ in range(count)]
    weights, width, rate, each = numpy.zeros(4), 0.5, 0.5, 8
    for generation in range(generations):
        seeds = [[1 + generation * 1000 + worker * each + i for i in range(each)] for worker in range(count)]
        futures = [worker.try_changes.remote(weights, own, width) for worker, own in zip(workers, seeds)]
        pairs = [pair for scores in cadre.gather(futures, timeout=300) for pair in scores]
        gains = numpy.array([up - down for up, down in pairs]) / 200.0
        changes = numpy.array([change(seed) for own in seeds for seed in own])
        weights = weights + rate * (gains @ changes) / len(gains)
        if generation % 5 == 4:
            print(f"generation {generation + 1}: upright for {numpy.mean(pairs):.0f} of 200 steps on average", flush=True)
    score = numpy.mean([steps_upright(weights, seed) for seed in range(100)])
    print(f"the policy keeps the pole upright for {score:.0f} of 200 steps")


if __name__ == "__main__":
    main()
