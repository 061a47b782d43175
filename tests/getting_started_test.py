"""Runs docs/getting-started.md: every command, in its order and as it stands.

A block ```sh is run in one shell after the other; `sh terminal` goes on in the background; `sh build` is what has built
the program under test; in `sh refused` the last command must end with 3.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```sh( \w+)?\n(.*?)^```$", re.M | re.S)


def main():
    program = pathlib.Path(os.environ["CADRE_PROGRAM"])
    home = tempfile.mkdtemp(prefix="cadre-home-")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CADRE_", "XDG_"))}
    environment.update(HOME=home, PATH=f"{program.parent}:{os.environ['PATH']}")
    page = (ROOT / "docs/getting-started.md").read_text()
    blocks = [(kind.strip(), text) for kind, text in BLOCK.findall(page)]
    assert [kind for kind, _ in blocks].count("terminal") == 1 and len(blocks) > 10, blocks
    up = None
    state = pathlib.Path(home) / "variables"
    state.touch()
    try:
        for kind, text in blocks:
            print(f"--- {kind or 'sh'}\n{text}", flush=True)
            if kind == "build":
                continue
            if kind == "terminal":
                up = subprocess.Popen(["bash", "-c", f"exec {text}"], cwd=ROOT, env=environment)
                wait_until_up(program, environment)
                continue
            # One shell for each block, which begins with the variables of the one before.
            script = f"set -e -o pipefail\n. {state}\n{text}\ndeclare -p job first second token 2>/dev/null > {state} || true\n"
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, timeout=300)
            wanted = 3 if kind == "refused" else 0
            if done.returncode != wanted:
                sys.exit(f"this ended with {done.returncode} instead of {wanted}:\n{text}")
        check_outcome(program, environment)
    finally:
        if up is not None:
            up.send_signal(signal.SIGINT)
            up.wait()
        shutil.rmtree(home)


def wait_until_up(program, environment):
    for _ in range(600):
        said = subprocess.run([program, "status", "--json"], env=environment, capture_output=True, text=True)
        if '"agents_up":1' in said.stdout:
            return
        time.sleep(0.1)
    sys.exit("the cluster did not start: " + said.stderr)


def check_outcome(program, environment):
    ask = lambda *words: subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True).stdout
    assert "ann" not in ask("user", "list"), "the second user is still there"
    why = [line for line in ask("audit", "--json").split("{") if '"act":"create_user"' in line]
    assert why, "nobody made a user"
    assert ask("job", "list", "--active").startswith("no waiting or running jobs"), ask("job", "list", "--active")


if __name__ == "__main__":
    main()
