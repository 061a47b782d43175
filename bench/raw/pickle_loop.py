#!/usr/bin/python3
"""A bare loop of pyzmq and pickle between two processes: p50 or p99 of a call, in microseconds, or calls a second with
256 in flight."""
import os
import pickle
import sys
import time

import zmq

pattern, at, now = sys.argv[1], f"ipc://@pickle_loop-{os.getpid()}", time.perf_counter
if os.fork() == 0:
    router = zmq.Context().socket(zmq.ROUTER)
    router.bind(at)
    total = 0
    while True:
        who, body = router.recv_multipart()
        name, args = pickle.loads(body)
        if name == "end":
            os._exit(0)
        total += args[0]
        router.send_multipart([who, pickle.dumps(total, 5)])
dealer = zmq.Context().socket(zmq.DEALER)
dealer.connect(at)
times, begin, flying, count = [], now(), 0, 0
while now() - begin < 1.5:
    called = now()
    dealer.send(pickle.dumps(("add", (1,)), 5))
    flying += 1
    count += 1
    if pattern != "window" or flying == 256:
        pickle.loads(dealer.recv())
        flying -= 1
    times.append((now() - called) * 1e6)
rate = count / (now() - begin)
dealer.send(pickle.dumps(("end", ()), 5))
times.sort()
print(rate if pattern == "window" else times[len(times) * (99 if pattern == "p99" else 50) // 100])
