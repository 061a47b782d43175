"""A classifier of digits in plain numpy: a network with one hidden layer, trained by SGD with momentum.

By itself:     PYTHONPATH=build/release/python /usr/bin/python3 examples/experiments/digits/train.py lr=0.05
On a cluster:  cadre experiment create -f examples/experiments/digits.yaml examples/experiments/digits
"""
import json

import numpy

from cadre import core
from digits import draw

DEFAULTS = {"lr": 0.1, "momentum": 0.9, "hidden": 32, "batch": 32, "dropout": 0.1, "epochs": 8}


class Training:
    """All that changes during training. A checkpoint contains all of it, also the random state and the position in the
    data: a trial that is restarted continues as if it had never been interrupted."""

    def __init__(self, parameters, seed):
        self.parameters = parameters
        self.images, self.labels = draw(8000, seed=1)
        self.random = numpy.random.default_rng(seed)
        sizes = [self.images.shape[1], parameters["hidden"], 10]
        self.weights = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            self.weights.append(self.random.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)))
            self.weights.append(numpy.zeros(outputs))
        self.velocity = [numpy.zeros_like(one) for one in self.weights]
        self.steps = self.passes = self.position = 0
        self.order = self.random.permutation(len(self.labels))

    @property
    def epochs(self):
        return self.passes + self.position / len(self.order)

    def next_batch(self):
        if self.position == len(self.order):
            self.order, self.position = self.random.permutation(len(self.order)), 0
            self.passes += 1
        chosen = self.order[self.position:self.position + self.parameters["batch"]]
        self.position += len(chosen)
        return self.images[chosen], self.labels[chosen]

    def step(self):
        """Trains with one batch, and returns its loss."""
        images, labels = self.next_batch()
        in_weights, in_bias, out_weights, out_bias = self.weights
        hidden = numpy.maximum(0, images @ in_weights + in_bias)
        kept = (self.random.random(hidden.shape) >= self.parameters["dropout"]) / (1 - self.parameters["dropout"])
        hidden = hidden * kept
        shares = softmax(hidden @ out_weights + out_bias)
        loss = -numpy.log(shares[numpy.arange(len(labels)), labels] + 1e-12).mean()
        shares[numpy.arange(len(labels)), labels] -= 1
        out_error = shares / len(labels)
        in_error = (out_error @ out_weights.T) * kept * (hidden > 0)
        gradients = [images.T @ in_error, in_error.sum(0), hidden.T @ out_error, out_error.sum(0)]
        for weight, velocity, gradient in zip(self.weights, self.velocity, gradients):
            velocity *= self.parameters["momentum"]
            velocity -= self.parameters["lr"] * gradient
            weight += velocity
        self.steps += 1
        return loss

    def validate(self, images, labels):
        in_weights, in_bias, out_weights, out_bias = self.weights
        shares = softmax(numpy.maximum(0, images @ in_weights + in_bias) @ out_weights + out_bias)
        return {"error": (shares.argmax(1) != labels).mean(), "epochs": self.epochs,
                "loss": -numpy.log(shares[numpy.arange(len(labels)), labels] + 1e-12).mean()}

    def save(self, folder):
        arrays = {f"weight{i}": one for i, one in enumerate(self.weights)}
        arrays.update({f"velocity{i}": one for i, one in enumerate(self.velocity)})
        numpy.savez(folder / "arrays.npz", order=self.order, **arrays)
        state = {"steps": self.steps, "passes": self.passes, "position": self.position,
                 "random": self.random.bit_generator.state}
        (folder / "state.json").write_text(json.dumps(state))

    def restore(self, folder):
        with numpy.load(folder / "arrays.npz") as arrays:
            self.weights = [arrays[f"weight{i}"] for i in range(4)]
            self.velocity = [arrays[f"velocity{i}"] for i in range(4)]
            self.order = arrays["order"]
        state = json.loads((folder / "state.json").read_text())
        self.steps, self.passes, self.position = state["steps"], state["passes"], state["position"]
        self.random.bit_generator.state = state["random"]


def softmax(values):
    values = numpy.exp(values - values.max(1, keepdims=True))
    return values / values.sum(1, keepdims=True)


def main():
    with core.init(hyperparameters=DEFAULTS) as trial:
        parameters = trial.info.hyperparameters
        training = Training(parameters, trial.info.seed)
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as folder:
                training.restore(folder)
        test = draw(1000, seed=2)
        epochs = trial.info.until or parameters["epochs"]
        while training.epochs < epochs:
            loss = training.step()
            if training.steps % 10 == 0:
                trial.train.report_training(training.steps, {"loss": loss})
            is_whole = training.epochs % 1 == 0
            if is_whole:
                trial.train.report_validation(training.steps, training.validate(*test))
            stops = trial.preempt.should_stop()
            if is_whole or stops:
                with trial.checkpoint.store_path(steps=training.steps) as (folder, _):
                    training.save(folder)
            if stops:
                return trial.preempt.acknowledge()


if __name__ == "__main__":
    main()
