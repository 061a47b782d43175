"""A search in a program, without a cluster: asynchronous halving with points drawn near the best results.

    python3 examples/experiments/study.py

With a file name as argument, the study is kept there: interrupt the program, and start it again to continue."""
import sys

import numpy

from cadre import search

SPACE = {
    "lr": search.log(-4, 0),
    "momentum": search.double(0, 0.99),
    "batch": search.categorical([8, 16, 32, 64]),
}


def make_data(seed, count):
    generator = numpy.random.default_rng(seed)
    inputs = generator.normal(size=(count, 20))
    labels = (inputs @ numpy.linspace(-1, 1, 20) + 0.3 * generator.normal(size=count) > 0).astype(float)
    return inputs, labels


def loss_of(weights, inputs, labels):
    scores = numpy.clip(inputs @ weights, -30, 30)
    return float(numpy.mean(numpy.log1p(numpy.exp(-scores * (2 * labels - 1)))))


def train(trial):
    """Logistic regression with momentum, one report after each pass over the data."""
    lr, momentum, batch = (trial.hyperparameters[name] for name in ("lr", "momentum", "batch"))
    inputs, labels = make_data(1, 512)
    check = make_data(2, 512)
    order = numpy.random.default_rng(trial.seed)
    weights, speed = numpy.zeros(20), numpy.zeros(20)
    for epoch in range(1, trial.until + 1):
        for rows in numpy.array_split(order.permutation(512), 512 // batch):
            chances = 1 / (1 + numpy.exp(-numpy.clip(inputs[rows] @ weights, -30, 30)))
            speed = momentum * speed - lr * inputs[rows].T @ (chances - labels[rows]) / len(rows)
            weights = weights + speed
        trial.report(epoch, loss_of(weights, *check))
        if trial.should_stop():
            break


def main():
    method = search.asha(max_trials=40, max_time=27, divisor=3, sampler=search.tpe())
    study = search.Study(SPACE, method, metric="loss", seed=1, file=sys.argv[1] if len(sys.argv) > 1 else None)
    study.optimize(train)
    epochs = sum(len(one.reports) for one in study.trials)
    print(f"{len(study.trials)} trials, {epochs} epochs instead of {27 * len(study.trials)}")
    print(f"best: trial {study.best.number}, loss {study.best.best_value:.4f}, {study.best.hyperparameters}")


if __name__ == "__main__":
    main()
