"""Data-parallel training with numpy: every process computes the gradient of its part of each batch, and all of them take
the same step with the mean.

    python3 train.py                                    one process, without a cluster
    cadre launch --workers 4 -- python3 train.py        four processes on this host
    cadre experiment create data_parallel.yaml .        on a cluster (docs/distributed.md)
"""
import numpy

from cadre import core

FEATURES, CLASSES, EXAMPLES = 20, 4, 4096


def generated_data():
    """Points around one center for each class; the same in all processes."""
    random = numpy.random.default_rng(7)
    labels = random.integers(0, CLASSES, EXAMPLES)
    points = random.normal(0, 1.5, (CLASSES, FEATURES))[labels] + random.normal(0, 2.0, (EXAMPLES, FEATURES))
    return points, labels


def loss_and_gradient(weights, points, labels):
    """Of a softmax classifier, as means over the points."""
    scores = points @ weights
    scores -= scores.max(axis=1, keepdims=True)
    shares = numpy.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    loss = -numpy.log(shares[numpy.arange(len(labels)), labels]).mean()
    shares[numpy.arange(len(labels)), labels] -= 1
    return loss, points.T @ shares / len(labels)


def main():
    defaults = {"lr": 0.1, "batch": 256, "steps": 40}
    with core.init(hyperparameters=defaults) as trial:
        options, ranks = trial.info.hyperparameters, trial.distributed
        points, labels = generated_data()
        weights, step = numpy.zeros((FEATURES, CLASSES)), 0
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                weights, step = numpy.load(path / "weights.npy"), trial.info.latest_checkpoint.steps
        stops = False
        while step < options["steps"] and not stops:
            # The batch is the same with any number of processes. Each takes every size-th of its points.
            batch = numpy.random.default_rng((trial.info.seed, step)).integers(0, EXAMPLES, options["batch"])
            mine = batch[ranks.rank::ranks.size]
            loss, gradient = loss_and_gradient(weights, points[mine], labels[mine])
            weight = len(mine) / len(batch)  # parts may differ by one point
            loss = ranks.allreduce(loss * weight)
            weights -= options["lr"] * ranks.allreduce(gradient * weight)
            step += 1
            trial.train.report_training(step, {"loss": loss})
            if step % 10 == 0:
                trial.train.report_validation(step, {"loss": loss_and_gradient(weights, points, labels)[0]})
            stops = trial.preempt.should_stop()
            if ranks.rank == 0 and (step % 10 == 0 or stops):
                with trial.checkpoint.store_path(steps=step) as (path, _):
                    numpy.save(path / "weights.npy", weights)
        if stops:
            trial.preempt.acknowledge()
        print(f"rank {ranks.rank} of {ranks.size} ends after step {step} with loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
