#!/usr/bin/python3
"""Measures remote classes in Python against the cluster of CADRE_MASTER; prints a name and a number a line."""
import collections
import os
import signal
import statistics
import sys
import threading
import time

import numpy

import cadre

now = time.perf_counter


@cadre.remote_class(cpus=0, wait=False)
class Echo:
    def __init__(self):
        self.sum = 0
        self.numbers = numpy.zeros(0)

    def add(self, n):
        self.sum += n
        return self.sum

    def take(self, numbers):
        return numbers.nbytes

    def give(self, size):
        if self.numbers.nbytes != size:
            self.numbers = numpy.full(size // 8, 1.5)
        return self.numbers

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)


def tell(name, value):
    print(f"{name} {value:.6g}", flush=True)


def one_at_a_time(echo):
    times, begin = [], now()
    while now() - begin < 1.5:
        called = now()
        echo.add(1)
        times.append((now() - called) * 1e6)
    times.sort()
    tell("call_p50", times[len(times) // 2])
    tell("call_p99", times[len(times) * 99 // 100])


def pipelined(echo):
    flying, count, begin = collections.deque(), 0, now()
    add = echo.add.remote
    while now() - begin < 1.5:
        if len(flying) == 256:
            flying.popleft().get()
        flying.append(add(1))
        count += 1
    for one in flying:
        one.get()
    return count / (now() - begin)


def threads_and_actors():
    actors, counts, begin = make(4), [0] * 4, now()

    def work(number):
        while now() - begin < 1.5:
            for one in actors:
                one.add(1)
                counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(counts) / (now() - begin)


def arrays(call, argument, size):
    rates, begin = [], now()
    while now() - begin < 1.5:
        called = now()
        call(argument)
        rates.append(size / (now() - called) / 1e9)
    return statistics.median(rates)


def make(count):
    actors = [Echo() for _ in range(count)]
    cadre.gather([one.add.remote(1) for one in actors], timeout=120)
    return actors


def milliseconds(work):
    begin = now()
    kept = work()
    return (now() - begin) * 1000, kept


def creation():
    times = []
    for _ in range(11):
        times.append(milliseconds(lambda: make(1))[0])
        time.sleep(0.3)
    tell("create_one", statistics.median(times))
    time.sleep(25)  # the buffer is filled
    spent, actors = milliseconds(lambda: make(50))
    tell("create_fifty", spent)
    spent, more = milliseconds(lambda: make(1))
    tell("next_first_call", spent)
    time.sleep(25)
    begin = now()
    del actors, more
    actors = make(50)
    tell("again_fifty", (now() - begin) * 1000)


def cold_creation():
    """Of classes that differ in a variable: none of these has a process that waits, or a template."""
    times, again = [], []
    for number in range(3):
        fresh = cadre.remote_class(Echo.__cadre_class__, cpus=0, wait=False, variables={"ROUND": str(number)})

        def make_fresh():
            actors = [fresh() for _ in range(50)]
            cadre.gather([one.add.remote(1) for one in actors], timeout=120)
            return actors

        spent, actors = milliseconds(make_fresh)
        times.append(spent)
        begin = now()
        del actors
        actors = make_fresh()
        again.append((now() - begin) * 1000)
        del actors
        time.sleep(3)
    tell("cold_fifty", statistics.median(times))
    tell("cold_again", statistics.median(again))


def death():
    times = []
    for _ in range(5):
        echo = make(1)[0]
        begin = now()
        try:
            echo.die()
        except cadre.ActorError:
            times.append((now() - begin) * 1000)
    tell("death_known", statistics.median(times))


def main():
    cadre.connect()
    if sys.argv[1:] == ["cold"]:
        return cold_creation()
    echo = make(1)[0]
    time.sleep(5)  # while processes are made ready, both cores are busy
    one_at_a_time(echo)
    tell("pipelined", pipelined(echo))
    tell("threads", threads_and_actors())
    for name, size in (("1mb", 1 << 20), ("64mb", 64 << 20)):
        tell(f"argument_{name}", arrays(echo.take, numpy.zeros(size // 8), size))
        tell(f"result_{name}", arrays(echo.give, size, size))
    death()
    creation()


if __name__ == "__main__":
    main()
