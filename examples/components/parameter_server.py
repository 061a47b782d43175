"""A parameter server: it holds the parameters of a small linear model, workers fit it to data of their own.

    python3 examples/components/parameter_server.py 4

starts four workers as processes. The server takes a step as soon as 60 % of the workers have sent a gradient, and gives
those the new parameters; the slower ones are not waited for.
"""
import random
import subprocess
import sys
import tempfile

import cadre

TRUE = [2.0, -3.0, 0.5]
STEPS = 200
RATE = 0.3


def worker(index, names, count):
    """Computes gradients on its own data until it is told that it is enough."""
    dice = random.Random(int(index))
    component = cadre.Component("fit", "worker", f"worker-{index}", peers={"server": 1}, names=names).join()
    data = []
    for _ in range(200):
        x = [dice.uniform(-1, 1) for _ in TRUE]
        data.append((x, sum(a * b for a, b in zip(TRUE, x)) + dice.gauss(0, 0.01)))

    def on_parameters(message):
        weights = message.value["weights"]
        gradient = [0.0] * len(weights)
        for x, y in data:
            error = sum(a * b for a, b in zip(weights, x)) - y
            for i, part in enumerate(x):
                gradient[i] += 2 * error * part / len(data)
        component.send("server", "gradient", gradient)

    component.on("parameters", on_parameters)
    component.on("enough", lambda message: component.stop())
    component.on_peer_down(lambda peer, why, ids: component.stop())
    component.launch()
    component.close()


def server(names, count):
    weights = [0.0] * len(TRUE)
    steps = 0
    component = cadre.Component("fit", "server", "server", peers={"worker": count}, names=names)

    def tell(peers, tag):
        for peer in peers:
            component.send(peer, tag, {"weights": weights})

    def on_gradients(messages):
        nonlocal steps
        for message in messages:
            for i, part in enumerate(message.value):
                weights[i] -= RATE * part
        steps += 1
        if steps < STEPS:
            tell([message.source for message in messages], "parameters")
        else:
            tell(component.peers("worker"), "enough")
            component.stop()

    component.when("worker:gradient:60%", on_gradients)
    component.join()
    tell(component.peers("worker"), "parameters")
    component.launch()
    component.close()
    return weights


def main(count):
    with tempfile.TemporaryDirectory() as folder:
        names = f"file://{folder}"
        workers = [subprocess.Popen([sys.executable, __file__, "worker", str(i), names, str(count)]) for i in range(count)]
        weights = server(names, count)
        for one in workers:
            one.wait()
    print("fitted  " + "  ".join(f"{w:6.3f}" for w in weights))
    print("true    " + "  ".join(f"{w:6.3f}" for w in TRUE))


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(*sys.argv[2:])
    else:
        main(int(sys.argv[1]))
