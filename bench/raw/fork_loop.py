#!/usr/bin/python3
"""A bare loop of os.fork: milliseconds until 50 processes, forked from an interpreter that has imported numpy, have each
answered once over a pipe; `twice`: until 50 more have, after the first 50 were ended."""
import os
import signal
import sys
import time

import numpy

count, now = 50, time.perf_counter


def fork_all():
    processes = []
    for number in range(count):
        asked, ask = os.pipe()
        answer, answered = os.pipe()
        pid = os.fork()
        if pid == 0:
            numpy.random.seed()
            os.read(asked, 8)
            os.write(answered, number.to_bytes(8, "little"))
            signal.pause()
        os.write(ask, bytes(8))
        processes.append((pid, answer))
        for one in (asked, ask, answered):
            os.close(one)
    for number, (_, answer) in enumerate(processes):
        assert int.from_bytes(os.read(answer, 8), "little") == number
    return processes


def end_all(processes):
    for pid, answer in processes:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(answer)


begin = now()
made = fork_all()
if sys.argv[1:] == ["twice"]:
    begin = now()
    end_all(made)
    made = fork_all()
print((now() - begin) * 1000)
end_all(made)
