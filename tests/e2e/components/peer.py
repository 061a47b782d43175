# A component in Python that passes values on to the one that asks, in C++, and tells what became of them: peer.py NAMES
import sys

import cadre


def on_pass_on(message):
    try:
        component.reply(message, component.request("test", "train", message.value).value)
    except cadre.ComponentError as error:
        component.refuse(message, f"{error.code}: {error}")


def on_array(message):
    numbers = message.value
    return {"sum": numbers.sum(), "shape": numbers.shape, "back": 2 * numbers, "seen": {1, 2}, "names": {7: "seven"}}


component = cadre.Component("g", "peer", "python", peers={"test": 1}, names=sys.argv[1])
component.on("pass on", on_pass_on, concurrent=True)
component.on("array", on_array)
component.on("note", lambda message: component.request("test", "note"))
component.on("end", lambda message: component.stop())
component.join()
component.launch()
