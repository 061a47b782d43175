"""Two components that greet each other. In two shells, in any order:

    python3 examples/components/hello.py worker file:///tmp/hello
    python3 examples/components/hello.py greeter file:///tmp/hello

The same works with examples/components/hello.cc in the place of either.
"""
import sys

import cadre


class Greeter:
    """A plain class, of use alone."""

    def __init__(self):
        self.greeted = 0

    def greet(self, name):
        self.greeted += 1
        return f"hello {name}, you are number {self.greeted}"


def main(role, names):
    if role == "greeter":
        component = cadre.Component("hello", "greeter", "greeter", peers={"worker": 1}, names=names)

        def on_hello(greeter, component, message):
            component.reply(message, body=greeter.greet(message.source).encode())
            component.stop()

        node = cadre.dist(component, {"hello": on_hello})(Greeter)()
        component.join()
        node.launch()
        print(f"greeted {node.greeted}")
    else:
        component = cadre.Component("hello", "worker", "worker", peers={"greeter": 1}, names=names)
        component.join()
        print(component.request("greeter", "hello").body.decode())
    component.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
