#!/usr/bin/env python3
"""A loop that can be stopped and goes on where it was: on a cluster, and just so on a laptop.

usage: loop.py [STEPS]
"""
import json
import os
import sys
import time

import cadre

CHECKPOINT = os.environ.get("CHECKPOINT", "checkpoint.json")


def load() -> int:
    try:
        with open(CHECKPOINT) as file:
            return json.load(file)["step"]
    except FileNotFoundError:
        return 0


def save(step: int) -> None:
    with open(CHECKPOINT + ".new", "w") as file:
        json.dump({"step": step}, file)
    os.replace(CHECKPOINT + ".new", CHECKPOINT)  # there is always a whole one


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    step = load()
    cadre.promise_liveness()
    while step < steps:
        stop = cadre.stop()
        if stop is not None:
            print(f"stopping at step {step}: {stop.why}, {stop.grace_left:.0f} s left", flush=True)
            break
        time.sleep(0.05)  # here one would learn something
        step += 1
        if step % 10 == 0:
            print(f"step {step}", flush=True)
            cadre.report({"step": step})
    save(step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
