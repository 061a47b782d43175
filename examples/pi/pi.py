"""Estimates pi by throwing darts, one task for each slot: cadre run --count 4 --slots 1 --dir examples/pi -- python3 pi.py"""

import os
import random

rank = int(os.environ.get("CADRE_RANK", "0"))
size = int(os.environ.get("CADRE_SIZE", "1"))
throws, steps = 2_000_000 // size, 5

dice = random.Random(rank)
inside = 0
for step in range(1, steps + 1):
    for _ in range(throws // steps):
        x, y = dice.random(), dice.random()
        inside += x * x + y * y < 1
    done = throws // steps * step
    print(f"{100 * step // steps:3} %  pi is about {4 * inside / done:.4f} after {done:,} throws", flush=True)
