"""A greeter and its workers, as examples/components/group.yaml runs them: each process learns from its variables of which
group, type and number it is, and the members find each other by the names of the master."""
import os

import cadre

WORKERS = 3

group, role = os.environ["CADRE_GROUP"], os.environ["CADRE_ROLE"]
name = f"{role}-{os.environ['CADRE_ROLE_RANK']}"

if role == "greeter":
    component = cadre.Component(group, role, name, peers={"worker": WORKERS})
    component.join()
    for reply in component.broadcast("worker", "hello", "who are you?"):
        print(reply.message.value, flush=True)
else:
    component = cadre.Component(group, role, name, peers={"greeter": 1})
    component.join()
    message = component.receive()
    component.reply(message, f"I am {name}")
component.close()
