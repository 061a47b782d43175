"""Classes whose objects are components, as examples/components/classes.yaml runs them: messages call their methods."""
import threading

WORKERS = 3


class Store:
    """Adds up what the workers send."""

    def __init__(self):
        self.numbers = []
        self.is_full = threading.Event()

    def add(self, number):
        self.numbers.append(number)
        if len(self.numbers) == WORKERS:
            self.is_full.set()
        return len(self.numbers)

    def run(self):
        self.is_full.wait()
        print("total", sum(self.numbers), flush=True)


class Worker:
    def run(self):
        number = int(self.component.name.rpartition("-")[2]) + 1
        self.component.request("store-0", "add", number)
