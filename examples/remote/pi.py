"""Monte-Carlo pi over many actors: python3 examples/remote/pi.py [ACTORS] [SAMPLES EACH]"""
import random
import sys
import time

import cadre


@cadre.remote_class(cpus=0, wait=False)
class Thrower:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def throw(self, samples):
        draw = self.random.random
        return sum(draw() ** 2 + draw() ** 2 <= 1.0 for _ in range(samples))


def main():
    actors = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    cadre.connect()
    begun = time.monotonic()
    throwers = [Thrower(seed) for seed in range(actors)]
    inside = sum(cadre.gather([one.throw.remote(samples) for one in throwers], timeout=300))
    print(f"pi is about {4 * inside / (actors * samples):.4f}, by {actors} actors in {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
