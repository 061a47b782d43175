"""Puts names, waits for them and watches them. In three shells, in any order:

    python3 examples/names/names.py file:///tmp/names watch demo
    python3 examples/names/names.py file:///tmp/names wait demo/server
    python3 examples/names/names.py file:///tmp/names put demo/server tcp://10.0.0.1:7000

An empty URL is the master; in a job it needs nothing else. The same works with examples/names/names.cc in the place of
any.
"""
import sys

import cadre


def main(url, command, key, *value):
    with cadre.Names(url) as names:
        if command == "put":
            names.put(key, value[0])
            sys.stdin.read()  # as long as this runs, the name is there
        elif command == "wait":
            print(names.wait(key, timeout=60).text)
        else:
            for change in names.watch(key):
                entry = change.entry
                print(f"{entry.key} is gone" if change.is_gone else f"{entry.key} is {entry.text}", flush=True)


if __name__ == "__main__":
    words = {"put": 5, "wait": 4, "watch": 4}
    if len(sys.argv) < 3 or len(sys.argv) != words.get(sys.argv[2]):
        sys.exit("usage: names.py URL put KEY VALUE | wait KEY | watch PREFIX")
    try:
        main(*sys.argv[1:])
    except cadre.NamesError as error:
        sys.exit(f"names.py: {error}")
    except KeyboardInterrupt:
        pass
