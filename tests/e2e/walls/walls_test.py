"""What a task may touch. Two users share one agent, once one that runs as root and once one that does not: bob's tasks
try to reach ann's tasks, the agent and the master in every way that we know of, and must fail each time."""
import concurrent.futures
import glob
import http.client
import json
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import urllib.parse

PROGRAM = pathlib.Path(os.environ["CADRE_PROGRAM"])
SECRET = "the-secret-of-ann-4711"
IS_ROOT = os.geteuid() == 0

# Runs as ann's task: leaves something to find wherever a task can leave something.
VICTIM = """
import ctypes, os, socket, time
for path in ("secret", "/tmp/secret", "/dev/shm/secret", os.environ["XDG_RUNTIME_DIR"] + "/secret"):
    with open(path, "w") as file:
        file.write(os.environ["ANN_SECRET"])
    os.chmod(path, 0o666)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.shmget(4711, 4096, 0o1000 | 0o666) >= 0
assert libc.mq_open(b"/ann", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
listener = socket.socket(socket.AF_UNIX)
listener.bind("/tmp/ann.sock")
listener.listen()
print("ready", flush=True)
time.sleep(1_000_000)
"""

# Before each attempt. What the attempt gives back is what it got.
PRELUDE = """
import ctypes, glob, json, os, signal, socket, stat, subprocess, sys
facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def call(result):
    if result in (-1, 2**64 - 1):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def read(path):
    with open(path, "rb") as file:
        return file.read(200)

def write(path, text="x"):
    with open(path, "a") as file:
        file.write(text)
    return "wrote " + path

def connect(path, kind=socket.SOCK_STREAM):
    client = socket.socket(socket.AF_UNIX, kind)
    client.connect(path)
    return "connected to " + path

def speak(port):
    # What a ZeroMQ socket says to a peer that it accepts without a key.
    client = socket.create_connection(('127.0.0.1', port))
    client.settimeout(20)
    heard = b''
    try:
        heard = client.recv(4096)
        client.sendall(b'\\xff' + b'\\0' * 8 + b'\\x7f\\x03\\0' + b'NULL'.ljust(20, b'\\0') + b'\\0' * 32)
        client.sendall(b'\\x04\\x19\\x05READY\\x0bSocket-Type\\0\\0\\0\\x06DEALER')
        client.sendall(b'\\x00\\x05hello')
        while piece := client.recv(4096):
            heard += piece
    except OSError:  # one that accepts it waits for more
        pass
    assert heard.startswith(b'\\xff'), 'no ZeroMQ socket is there'
    if b'READY' not in heard:
        raise OSError('closed after its greeting')
    return heard

def attempt():
"""
EPILOGUE = """
try:
    print("GOT", attempt())
except OSError as failure:
    print("REFUSED", failure)
"""

ATTEMPTS = {
    # What belongs to the system.
    "read_shadow_passwords": "return read('/etc/shadow')",
    "write_to_the_system": "return write('/etc/cadre-was-here')",
    "write_to_programs": "return write('/usr/bin/cadre-was-here')",
    "list_the_home_of_the_agents_user": "return os.listdir(facts['home']) or call(-1)",
    "read_the_hosts_tmp": "return read(facts['host_tmp'])",
    "list_sockets_of_services": """
        others = [name for name in os.listdir('/run') if name != 'user' and name not in facts['resolver']]
        return others or call(-1)""",
    # What belongs to the master.
    "read_the_owners_token": "return read(facts['data'] + '/client.json')",
    "read_the_secret_of_passes": "return read(facts['data'] + '/passes.secret')",
    "read_the_secret_of_local_agents": "return read(facts['data'] + '/agents.secret')",
    "read_the_keys_of_the_master": "return read(facts['data'] + '/master.keys')",
    "read_the_database": "return read(facts['data'] + '/cadre.db')",
    "list_the_data_folder": "return os.listdir(facts['data'] + '/run')",
    "connect_to_the_agents_socket": "return connect(facts['data'] + '/run/agents')",
    "connect_to_the_bulk_socket": "return connect(facts['data'] + '/run/bulk')",
    "connect_to_the_socket_of_the_owner": "return connect(facts['data'] + '/run/http')",
    "connect_to_the_socket_for_joining": "return connect(facts['data'] + '/run/join')",
    "speak_to_the_agents_port_without_a_key": "return speak(facts['agents_port'])",
    "speak_to_the_bulk_port_without_a_key": "return speak(facts['bulk_port'])",
    "speak_to_the_port_for_joining_without_a_key": "return speak(facts['join_port'])",
    "ask_the_api_without_a_token": """
        import urllib.request
        return urllib.request.urlopen(os.environ['CADRE_MASTER'] + '/api/v1/jobs').read()""",
    "ask_the_api_for_users_with_the_tasks_token": """
        import urllib.request
        request = urllib.request.Request(os.environ['CADRE_MASTER'] + '/api/v1/users')
        request.add_header('Authorization', 'Bearer ' + os.environ['CADRE_TOKEN'])
        return urllib.request.urlopen(request).read()""",
    # What belongs to the agent.
    "read_the_identity_of_the_agent": "return read(facts['agent'] + '/identity')",
    "reach_the_agents_folder_through_proc": """
        for process in ('self', '1'):
            for link in ('root', 'cwd'):
                try:
                    return read('/proc/%s/%s%s/identity' % (process, link, facts['agent']))
                except OSError as failure:
                    last = failure
        raise last""",
    "list_the_agents_folder": "return os.listdir(facts['agent'] + '/code')",
    "kill_the_agent": "os.kill(facts['agent_pid'], signal.SIGKILL); return 'killed'",
    "kill_the_supervisor_of_another": "os.kill(facts['supervisor_pid'], signal.SIGKILL); return 'killed'",
    # What belongs to another's task.
    "read_the_launch_of_another": "return read(facts['folder'] + '/launch')",
    "read_the_work_of_another": "return read(facts['folder'] + '/work/secret')",
    "read_the_tmp_of_another": "return read(facts['folder'] + '/tmp/secret')",
    "read_the_same_path_in_tmp": "return read('/tmp/secret')",
    "write_into_the_spool_of_another": "return write(facts['folder'] + '/output/x')",
    "read_the_code_of_another": "return read(facts['tree'] + '/model.txt')",
    "write_into_the_code_of_another": "return write(facts['tree'] + '/model.txt')",
    "connect_to_the_task_socket_of_another":
        "return connect(facts['folder'] + '/task.sock', socket.SOCK_SEQPACKET)",
    "pose_as_the_agent_of_another":
        "return connect(facts['folder'] + '/agent.sock', socket.SOCK_SEQPACKET)",
    "connect_to_a_socket_of_another": "return connect('/tmp/ann.sock')",
    "read_the_environment_of_another": """
        for path in glob.glob('/proc/[0-9]*/environ'):
            if b'ANN_SECRET' in read(path) or b'ANN_SECRET' in open(path, 'rb').read():
                return path
        raise OSError('in no environment')""",
    "find_processes_of_others": """
        pids = [name for name in os.listdir('/proc') if name.isdigit()]
        if len(pids) <= 2:
            raise OSError('only its own')
        return pids""",
    "kill_a_process_of_another": "os.kill(facts['pid'], signal.SIGKILL); return 'killed'",
    "trace_a_process_of_another": "return call(libc.ptrace(16, facts['pid'], 0, 0))",
    "read_memory_of_another": "return read('/proc/%d/mem' % facts['pid'])",
    "read_shared_memory_of_another": "return read('/dev/shm/secret')",
    "attach_shared_memory_of_another": "return call(libc.shmget(4711, 4096, 0o666))",
    "open_the_message_queue_of_another": "return call(libc.mq_open(b'/ann', os.O_RDWR))",
    "read_the_runtime_folder_of_another": "return read(os.environ['XDG_RUNTIME_DIR'] + '/secret')",
    # Ways out.
    "unmount_what_hides_others": """
        for path in (facts['data'], '/run', '/home', '/dev', '/proc', '/tmp'):
            if libc.umount2(path.encode(), 2) == 0:
                return path
        return call(-1)""",
    "mount_a_folder": "return call(libc.mount(b'/', b'/tmp', None, 4096, None))",
    "mount_control_groups": "return call(libc.mount(b'x', b'/tmp', b'cgroup2', 0, None))",
    "make_a_user_namespace": "return call(libc.unshare(0x10000000 | 0x20000))",
    "enter_another_namespace": "return call(libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0))",
    "regain_rights": """
        status = read('/proc/self/status') + open('/proc/self/status', 'rb').read()
        fields = dict(line.split(b':', 1) for line in status.splitlines() if b':' in line)
        rights = [fields[b'Cap' + kind].strip() for kind in (b'Eff', b'Prm', b'Bnd', b'Amb')]
        if set(rights) == {b'0' * 16} and fields[b'NoNewPrivs'].strip() == b'1':
            raise OSError('no capabilities, and none to come')
        return rights, fields[b'NoNewPrivs']""",
    "become_root_by_a_program": """
        os.setuid(0)
        return os.geteuid()""" if IS_ROOT else """
        os.setuid(os.getuid() + 1)
        return os.geteuid()""",
    "open_a_disk": "return read(facts['disk'])",
    "make_a_device_node": """
        os.mknod('/tmp/disk', 0o666 | stat.S_IFBLK, os.makedev(254, 0))
        return read('/tmp/disk')""",
    "read_the_memory_of_the_kernel": """
        for path in ('/dev/mem', '/proc/kcore'):
            try:
                return read(path)
            except OSError as failure:
                last = failure
        raise last""",
    "read_the_log_of_the_kernel": "return read('/dev/kmsg')",
    "use_keys_of_the_session": "return call(libc.syscall(250, 0, -3, 1, 0, 0))",
    "open_files_by_handle": """
        write('mine')
        handle = ctypes.create_string_buffer((128).to_bytes(4, 'little') + bytes(132))
        made = libc.name_to_handle_at(-100, b'mine', handle, ctypes.byref(ctypes.c_int()), 0)
        assert made == 0, os.strerror(ctypes.get_errno())
        return call(libc.open_by_handle_at(os.open('.', os.O_RDONLY), handle, os.O_RDONLY))""",
    # Limits.
    "raise_the_own_limit": """
        for name in ('memory.limit_in_bytes', 'memory.max', 'pids.max', 'cgroup.procs', 'tasks'):
            for path in glob.glob('/sys/fs/cgroup/**/' + name, recursive=True):
                return write(path, '0')
        raise OSError('no control groups to be seen')""",
    "kill_by_the_control_group_of_another": "return write(facts['cgroup'] + '/cgroup.procs', str(os.getpid()))",
    "fill_what_all_tasks_see": """
        with open('/run/full', 'wb') as file:
            for _ in range(64):
                file.write(b'x' * (1 << 20))
                file.flush()
        return 'wrote 64 MiB'""",
    "use_up_all_process_numbers": """
        import resource
        most, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        if 0 < hard <= int(read('/proc/sys/kernel/pid_max')) // 2:
            try:
                resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard + 1))
            except ValueError as failure:
                raise OSError(failure)
        return hard""",
}

# At what the agent keeps of the same task; each waits until all of it is there.
ATTEMPTS_AT_THE_OWN_TASK = {
    "write_into_the_own_launch": "return os.open('../launch', os.O_WRONLY)",
    "write_into_the_own_spool": "return os.listdir('../output')",
    "pose_as_the_own_agent": "return connect('../agent.sock', socket.SOCK_SEQPACKET)",
}

# What attempts create, and what not every host has: here the folder must be there.
NOT_THERE_BEFORE = ("/etc/cadre-was-here", "/usr/bin/cadre-was-here", "/run/full", "/tmp/disk", "/output/x",
                    "/dev/mem", "/proc/kcore", "/cgroup.procs")


def paths_in(body, facts):
    """The paths that an attempt names, in full or by a fact. An attempt at a path that is not there proves nothing."""
    for name, rest in re.findall(r"facts\['(\w+)'\](?: \+ '(/[^']*)')?", body):
        if str(facts[name]).startswith("/"):
            yield facts[name] + rest
    yield from re.findall(r"(?<!b)(?<!\+ )'(/[^'*%]*)'", body)


def free_ports():
    """The first of three that follow each other."""
    for first in range(20_000 + os.getpid() % 20_000, 60_000, 7):
        try:
            for port in range(first, first + 3):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise AssertionError("no free ports")


def pids_with(text):
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if text.encode() in pathlib.Path(path).read_bytes():
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def parent_of(pid):
    """None: it has ended meanwhile."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def runs_python(pid):
    """Whether it is a python3 of the task and no process of cadre."""
    try:
        return b"python3" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() and \
            b"cadre" not in pathlib.Path(f"/proc/{pid}/exe").resolve().name.encode()
    except OSError:
        return False


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cgroup_of(pid):
    """The one deepest down, which is its own if it has one."""
    found = ["/sys/fs/cgroup/"]
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for point in (f"/sys/fs/cgroup/{names}" if names else "/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            if names in ("", "memory", "pids") and os.path.exists(point + path + "/cgroup.procs"):
                found.append(point + path)
    return max(found, key=lambda path: path.count("/"))


class Cluster:
    """`cadre up`, as root or as an ordinary user, in a folder that is neither a home folder nor below /tmp."""

    def __init__(self, as_root, *arguments):
        base = "/var/lib" if os.access("/var/lib", os.W_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-walls-", dir=base))
        self.data = self.folder / "data"
        self.home = self.folder / "home"
        self.shared = self.folder / "shared"
        self.command = []
        programs = self.folder / "bin"
        for folder in (self.home, self.shared, programs):
            folder.mkdir()
        for name in (PROGRAM.name, "cadre-supervisor"):
            shutil.copy(PROGRAM.parent / name, programs / name)
        (self.shared / "file").write_text("for all\n")
        (self.shared / "link").symlink_to(self.data)
        if not as_root and IS_ROOT:
            user = pwd.getpwnam("nobody")
            self.command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
            for path in (self.folder, self.home, self.shared):
                os.chown(path, user.pw_uid, user.pw_gid)
        if IS_ROOT:
            for path in (self.folder, programs, self.shared):
                os.chmod(path, 0o755)
            for name in (PROGRAM.name, "cadre-supervisor"):
                os.chmod(programs / name, 0o755)
        if as_root:
            for path in (programs, programs / PROGRAM.name, programs / "cadre-supervisor"):
                os.chmod(path, 0o700)  # as in a checkout that was made with umask 077
        self.program = str(programs / PROGRAM.name)
        self.agents_port = free_ports()
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [*self.command, self.program, "up", "--data", str(self.data), "--port", "0", "--slots", "8",
                 "--listen", f"127.0.0.1:{self.agents_port}", "--allow-mount", str(self.shared), *arguments],
                stdout=log, stderr=log, cwd="/", env={**os.environ, "HOME": str(self.home)})
        self.until(self.is_up)
        self.ann = self.user("ann")
        self.bob = self.user("bob")

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, holds, seconds=120):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError("it did not come to that; " + (self.folder / "log").read_text())
            time.sleep(0.02)

    def is_up(self):
        try:
            known = json.loads((self.data / "client.json").read_text())
            self.url, self.admin = known["url"], known["token"]
            return self.ask("GET", "/status")["agents_up"] == 1
        except (OSError, ValueError, http.client.HTTPException, AssertionError):
            return False

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(self.url).port, timeout=60)
        headers = {"Authorization": "Bearer " + (token or self.admin), "Content-Type": "application/json"}
        try:
            connection.request(method, "/api/v1" + path, body=json.dumps(body) if body else None, headers=headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        assert response.status == 200, text
        return json.loads(text)

    def user(self, name):
        self.ask("POST", "/users", {"name": name})
        self.ask("PUT", f"/workspaces/default/members/{name}", {"role": "editor"})
        return self.ask("POST", "/tokens", {"user": name})["token"]

    def run(self, token, *words):
        """`cadre run` as that user, from a place of its own."""
        environment = {**os.environ, "CADRE_TOKEN": token, "CADRE_MASTER": self.url, "HOME": str(self.home)}
        return subprocess.run([str(PROGRAM), "run", *words], cwd="/", env=environment, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Walls:
    """The table, and what is promised beside it."""

    AS_ROOT = True

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.AS_ROOT)
        cls.addClassCleanup(cls.cluster.close)
        code = cls.cluster.folder / "code"
        code.mkdir()
        (code / "model.txt").write_text(SECRET)
        mark = f"mark-{os.getpid()}-{cls.__name__}"
        started = cls.cluster.run(cls.cluster.ann, "--detach", "--dir", str(code), "--memory", "64MiB", "--env",
                                  "ANN_SECRET=" + SECRET, "--", "/usr/bin/python3", "-c", VICTIM, mark)
        assert started.returncode == 0, started.stderr
        cls.job = started.stdout.split()[0] if started.stdout.strip().isdigit() else started.stdout.strip().split()[-1]
        agent = cls.cluster.data / "agent"

        def is_ready():
            found = glob.glob(f"{agent}/tasks/*/tmp/ann.sock")
            cls.victim = pathlib.Path(found[0]).parent.parent if found else None
            return found and (cls.victim / "output").exists()  # once it has written something

        cls.cluster.until(is_ready)
        cls.pid = next(pid for pid in pids_with(mark) if runs_python(pid))
        cls.runtime = next(iter(glob.glob(f"/proc/{cls.pid}/root/run/user/*")))
        os.chmod(agent / "identity", 0o644)
        cls.stand_in_for_the_supervisor(cls.victim)
        host_tmp = tempfile.NamedTemporaryFile(prefix="cadre-walls-", dir="/tmp", delete=False)
        os.chmod(host_tmp.name, 0o644)
        host_tmp.write(b"of the host")
        host_tmp.close()
        cls.addClassCleanup(os.unlink, host_tmp.name)
        (cls.cluster.home / "private").write_text("x")
        disks = glob.glob("/dev/[vs]d[a-z]") + glob.glob("/dev/nvme*n1") or ["/dev/kmsg"]
        agents = [pid for pid in pids_with(str(cls.cluster.data)) if parent_of(pid) == cls.cluster.process.pid]
        trees = [path for path in glob.glob(f"{agent}/code/trees/*") if os.path.isdir(path)]
        cls.facts = {
            "data": str(cls.cluster.data), "agent": str(agent), "folder": str(cls.victim), "tree": trees[0],
            "home": str(cls.cluster.home), "host_tmp": host_tmp.name, "pid": cls.pid, "agent_pid": agents[-1],
            "supervisor_pid": parent_of(cls.pid), "cgroup": cgroup_of(cls.pid), "disk": disks[0],
            "agents_port": cls.cluster.agents_port, "bulk_port": cls.cluster.agents_port + 1,
            "join_port": cls.cluster.agents_port + 2,
            "resolver": os.path.realpath("/etc/resolv.conf").split("/")[2:3],
        }
        for name, body in ATTEMPTS.items():
            for path in paths_in(body, cls.facts):
                where = os.path.dirname(path) if path.endswith(NOT_THERE_BEFORE) else path
                assert os.path.lexists(where) or os.path.lexists(f"/proc/{cls.pid}/root{where}"), f"{name}: {where}"
        assert os.path.exists(cls.runtime + "/secret")
        for name in ("agents_port", "bulk_port", "join_port"):
            socket.create_connection(("127.0.0.1", cls.facts[name])).close()

    @classmethod
    def stand_in_for_the_supervisor(cls, folder):
        """Listens at agent.sock, where a supervisor listens only while it has no agent."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cls.addClassCleanup(listener.close)
        listener.bind(f"{folder}/agent.sock")
        listener.listen()
        os.chmod(f"{folder}/agent.sock", 0o666)

    def attempt(self, body, *options):
        program = PRELUDE + textwrap.indent(textwrap.dedent(body if "\n" in body else "\n" + body), "    ") + EPILOGUE
        return self.cluster.run(self.cluster.bob, *options, "--", "/usr/bin/python3", "-c", program,
                                json.dumps(self.facts))

    def attempt_at_the_own_task(self, body):
        mark = f"waits-{time.monotonic_ns()}"
        wait = f"""
            import time
            print('waits', file=sys.stderr, flush=True)
            write('{mark}')
            end = time.monotonic() + 60
            while not os.path.exists('may-go-on') and time.monotonic() < end:
                time.sleep(0.02)
        """
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = pool.submit(self.attempt, textwrap.dedent(wait) + body)
            own = lambda: list(self.cluster.data.glob(f"agent/tasks/*/work/{mark}"))
            self.cluster.until(lambda: own() or running.done())
            work = own()[0].parent
            self.stand_in_for_the_supervisor(work.parent)
            kept = ("launch", "output", "agent.sock")
            self.cluster.until(lambda: all((work.parent / name).exists() for name in kept))
            (work / "may-go-on").touch()
            return running.result()

    def fails_with(self, token, words, *command):
        """What `cadre run` says of a job that is refused."""
        done = self.cluster.run(token, *command)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(words, done.stderr)

    def test_the_attacked_task_keeps_running(self):
        self.assertTrue(is_alive(self.pid))  # and again in tearDownClass, after the others

    @classmethod
    def tearDownClass(cls):
        assert is_alive(cls.pid), "ann's task was killed"
        assert is_alive(cls.facts["agent_pid"]), "the agent was killed"

    def test_a_task_can_do_its_work(self):
        """Else all of the above would be easy."""
        program = """
            import os, pwd, subprocess, tempfile
            assert pwd.getpwuid(os.getuid()).pw_name == os.environ['USER'] == os.environ['LOGNAME']
            for folder in ('.', '/tmp', '/var/tmp', '/dev/shm', os.environ['HOME'], os.environ['XDG_RUNTIME_DIR']):
                with tempfile.NamedTemporaryFile(dir=folder, mode='w') as file:
                    file.write('x')
            assert os.listdir(os.getcwd()) is not None and not os.listdir('/home')
            assert subprocess.run(['id', '-un'], capture_output=True).stdout.strip()
            assert socket.gethostbyname('localhost')
            os.openpty()
            open('/dev/null', 'w').write('x'); read('/dev/urandom'); read('/dev/zero')
            return 'all of it'"""
        done = self.attempt(program)
        self.assertEqual(done.stdout, "GOT all of it\n", done.stderr)

    def test_run_as_its_own_user(self):
        uids = [self.cluster.run(token, "--", "id", "-u").stdout.strip()
                for token in (self.cluster.ann, self.cluster.bob, self.cluster.bob)]
        self.assertEqual(uids[1], uids[2])
        if self.AS_ROOT:
            self.assertNotEqual(uids[0], uids[1])
            for uid in uids:
                self.assertGreaterEqual(int(uid), 2_100_000_000)
        else:
            self.assertNotEqual(uids[0], "0")

    def test_run_as_the_account_that_the_record_names(self):
        if not self.AS_ROOT:
            return  # all tasks run as the agent's user
        self.cluster.ask("PATCH", "/users/bob", {"unix_user": "nobody"})
        try:
            named = self.cluster.run(self.cluster.bob, "--", "id", "-un")
        finally:
            self.cluster.ask("PATCH", "/users/bob", {"unix_user": ""})
        self.assertEqual((named.stdout, named.returncode), ("nobody\n", 0), named.stderr)
        again = self.cluster.run(self.cluster.bob, "--", "id", "-un")
        self.assertEqual((again.stdout, again.returncode), ("bob\n", 0), again.stderr)

    def test_setup_commands_are_behind_the_walls_of_their_task(self):
        hidden = ("client.json", "agents.secret", "run/http", "agent/agent.keys", "agent/identity")
        look = f"""
            import json, os, pathlib
            data = pathlib.Path({str(self.cluster.data)!r})
            status = pathlib.Path("/proc/self/status").read_text().splitlines()
            print(json.dumps({{"uid": os.getuid(), "rights": [line for line in status if line.startswith("CapEff")],
                              "found": [name for name in {hidden} if os.path.lexists(data / name)],
                              "tasks": os.listdir(data / "agent/tasks"), "task": os.environ["CADRE_TASK"]}}))"""
        for name in hidden:
            self.assertTrue(os.path.lexists(self.cluster.data / name), name)
        words = shlex.join(["/usr/bin/python3", "-c", textwrap.dedent(look)])
        done = self.cluster.run(self.cluster.bob, "--setup", words + " > seen-by-setup", "--", "sh", "-c",
                                "cat seen-by-setup; " + words)
        self.assertEqual(done.returncode, 0, done.stderr)
        setup, task = map(json.loads, done.stdout.splitlines())
        self.assertEqual(setup, task)
        self.assertNotEqual(setup["uid"], 0)
        self.assertEqual((setup["rights"], setup["found"]), (["CapEff:\t" + "0" * 16], []))
        self.assertEqual(setup["tasks"], [setup["task"] + "-1"])

    def test_tasks_of_one_job_share_their_runtime_folder(self):
        script = """
            cd $XDG_RUNTIME_DIR
            if [ $CADRE_RANK = 0 ]; then echo hello > new; mv new note; while [ ! -e read ]; do sleep 0.05; done
            else while [ ! -e note ]; do sleep 0.05; done; cat note; touch read; fi"""
        done = self.cluster.run(self.cluster.bob, "--count", "2", "--max-time", "60s", "--", "sh", "-c", script)
        self.assertEqual((done.stdout, done.returncode), ("[1] hello\n", 0), done.stderr)

    def test_leave_the_control_group_and_use_more_memory(self):
        body = """
            for path in glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True):
                write(path, '0')
            block = bytearray(200 << 20)
            for at in range(0, len(block), 4096):
                block[at] = 1
            import time
            time.sleep(5)
            return len(block)"""
        done = self.attempt(body, "--memory", "64MiB")
        self.assertNotIn("GOT", done.stdout)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("memory", done.stderr)

    def test_use_more_memory_in_files(self):
        body = """
            with open('/dev/shm/block', 'wb') as file:
                for _ in range(200):
                    file.write(bytes(1 << 20))
            import time
            time.sleep(5)
            return 'all of it'"""
        done = self.attempt(body, "--memory", "64MiB")
        self.assertNotIn("GOT", done.stdout)
        if not done.stdout.startswith("REFUSED"):  # then it was not full, but killed
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("memory", done.stderr)

    def test_fork_without_end(self):
        body = """
            import time
            children = []
            try:
                while len(children) < 200:
                    child = os.fork()
                    if child == 0:
                        time.sleep(60)
                        os._exit(0)
                    children.append(child)
            finally:
                for child in children:
                    os.kill(child, signal.SIGKILL)
            return len(children)"""
        done = self.attempt(body, "--processes", "50")
        self.assertTrue(done.stdout.startswith("REFUSED"), done.stdout + done.stderr)

    def test_mount_the_masters_folder(self):
        self.fails_with(self.cluster.bob, "cannot be mounted", "--mount", f"{self.cluster.data}:/tmp/m", "--", "true")

    def test_mount_the_masters_folder_through_a_link(self):
        self.fails_with(self.cluster.bob, "cannot be mounted", "--mount", f"{self.cluster.shared}/link:/tmp/m", "--",
                        "true")

    def test_mount_the_masters_folder_as_the_owner_of_the_agent(self):
        self.fails_with(self.cluster.admin, "cannot be mounted", "--mount", f"{self.cluster.data}:/tmp/m", "--",
                        "true")

    def test_mount_a_folder_above_the_masters_as_the_owner_of_the_agent(self):
        done = self.cluster.run(self.cluster.admin, "--mount", f"{self.cluster.folder}:/tmp/m", "--", "sh", "-c",
                                "cat /tmp/m/shared/file; ls -A /tmp/m/data")
        self.assertEqual((done.stdout, done.returncode), ("for all\n", 0), done.stderr)

    def test_mount_a_folder_that_the_agent_does_not_allow(self):
        self.fails_with(self.cluster.bob, "--allow-mount", "--mount", "/etc:/tmp/etc", "--", "true")

    def test_mount_a_read_only_folder_for_writing(self):
        self.fails_with(self.cluster.bob, "for writing", "--mount", f"{self.cluster.shared}:/tmp/s:rw", "--", "true")

    def test_mount_a_folder_that_the_agent_allows(self):
        done = self.cluster.run(self.cluster.bob, "--mount", f"{self.cluster.shared}:/tmp/s", "--", "sh", "-c",
                                "cat /tmp/s/file; touch /tmp/s/new 2>/dev/null || echo read-only")
        self.assertEqual(done.stdout, "for all\nread-only\n", done.stderr)

    def test_mount_below_a_folder_of_another_user(self):
        if not self.AS_ROOT:
            return  # all tasks run as the agent's user
        closed = self.cluster.shared / "closed"
        (closed / "project").mkdir(parents=True)
        os.chown(closed, 3_000, 3_000)
        os.chmod(closed, 0o700)
        self.fails_with(self.cluster.bob, "has no access to it", "--mount", f"{closed}/project:/tmp/m", "--", "true")

    def test_turn_isolation_off_without_consent_of_the_agent(self):
        self.fails_with(self.cluster.bob, "--allow-isolation-off", "--isolation", "off", "--", "true")
        self.fails_with(self.cluster.admin, "--allow-isolation-off", "--isolation", "off", "--", "true")

    def test_run_as_root_without_being_admin(self):
        self.fails_with(self.cluster.bob, "only admins", "--run-as-root", "--", "true")

    def test_run_as_root_as_an_admin(self):
        done = self.cluster.run(self.cluster.admin, "--run-as-root", "--", "sh", "-c",
                                f"id -u; ls -A {self.cluster.data}; umount /home 2>/dev/null || echo walled; "
                                "echo x > /proc/sys/kernel/core_pattern || echo protected")
        if self.AS_ROOT:
            agent = "agent\n"  # the way to its own folder
            self.assertEqual(done.stdout, f"0\n{agent}walled\nprotected\n", done.stderr)
        else:
            self.assertIn("does not run as root", done.stderr)

    def test_mount_over_kernel_file_systems(self):
        for target in ("/proc/1/root/tmp/planted", "/sys/planted", "/dev/planted", "/tmp/../proc/1/root/tmp/planted"):
            self.fails_with(self.cluster.bob, "choose a place outside of /proc", "--mount",
                            f"{self.cluster.shared}:{target}", "--", "true")
        # Through a link, in code of the user's own.
        with tempfile.TemporaryDirectory() as code:
            os.symlink("/proc/1/root/tmp", f"{code}/link")
            done = self.cluster.run(self.cluster.bob, "--dir", code, "--mount",
                                    f"{self.cluster.shared}:link/planted-by-a-task", "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(pathlib.Path("/tmp/planted").exists())
        self.assertFalse(pathlib.Path("/tmp/planted-by-a-task").exists())

    def test_hide_data_folders_in_mounts_although_a_mount_is_over_proc(self):
        with tempfile.TemporaryDirectory() as code:
            os.symlink("/proc", f"{code}/link")
            done = self.cluster.run(self.cluster.admin, "--dir", code, "--mount", f"{self.cluster.shared}:link",
                                    "--mount", f"{self.cluster.folder}:/mnt", "--", "ls", "/mnt/data")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("choose a place outside of /proc", done.stderr)
        done = self.cluster.run(self.cluster.admin, "--mount", f"{self.cluster.folder}:/mnt", "--", "ls", "-A",
                                "/mnt/data")
        self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)

    def test_enter_the_user_namespace_of_a_task_from_the_host(self):
        if not self.AS_ROOT:
            return  # it belongs to the agent's own user, who is the only one in it
        uid = os.stat(f"/proc/{self.pid}").st_uid
        program = textwrap.dedent(f"""
            import ctypes, os
            os.setresgid({uid}, {uid}, {uid})
            os.setresuid({uid}, {uid}, {uid})
            try:
                users = os.open('/proc/{self.pid}/ns/user', os.O_RDONLY)
            except OSError:
                raise SystemExit('REFUSED')
            raise SystemExit('GOT' if ctypes.CDLL(None).setns(users, 0x10000000) == 0 else 'REFUSED')""")
        done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "REFUSED\n")

    def keep_descriptors_of(self, paths, script):
        """Runs a task whose descriptors of these paths another task of the same user keeps after its end. Then runs the
        script there; `kept` holds them."""
        name = f"cadre-walls-{os.urandom(4).hex()}"
        keeper = textwrap.dedent(f"""
            import os, socket, sys, time
            listener = socket.socket(socket.AF_UNIX)
            listener.bind('\\0{name}')
            listener.listen()
            print('listens', flush=True)
            kept = socket.recv_fds(listener.accept()[0], 9, 9)[1]
            """)
        giver = give_descriptors(name, paths)
        program = keeper + textwrap.dedent(script)
        environment = {**os.environ, "CADRE_TOKEN": self.cluster.bob, "CADRE_MASTER": self.cluster.url}
        kept = subprocess.Popen([str(PROGRAM), "run", "--", "/usr/bin/python3", "-c", program], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(kept.kill)
        done = self.cluster.run(self.cluster.bob, "--", "/usr/bin/python3", "-c", giver)
        self.assertEqual(done.returncode, 0, done.stderr)
        return kept

    def test_a_mount_over_a_folder_stays_when_the_task_has_ended(self):
        hidden = [f"{self.cluster.data}/client.json", f"{self.cluster.data}/master.keys", "/home", "/root"]
        for path in hidden:
            self.assertTrue(pathlib.Path(path).exists(), path)
        kept = self.keep_descriptors_of(["/"], f"""
            time.sleep(1.5)
            for path in {hidden!r}:
                try:
                    found = os.open(path[1:], os.O_RDONLY | os.O_DIRECTORY, dir_fd=kept[0])
                    print(path, 'has something' if os.listdir(found) else 'is empty')
                except NotADirectoryError:
                    print(path, 'is a file')
                except OSError:
                    print(path, 'is not there')
            """)
        said = kept.communicate(timeout=60)[0]
        self.assertEqual(kept.returncode, 0, said)
        self.assertEqual(said.count("is not there") + said.count("is empty"), len(hidden), said)

    def test_a_folder_of_an_ended_task_is_not_reused(self):
        kept = self.keep_descriptors_of([".", "/tmp"], """
            for _ in range(80):
                for one in kept:
                    for found in os.listdir(one):
                        print('saw', found, flush=True)
                    try:
                        os.open('planted', os.O_CREAT | os.O_WRONLY, dir_fd=one)
                        os.unlink('planted', dir_fd=one)
                    except OSError:
                        pass
                time.sleep(0.1)
            print('done')
            """)
        for _ in range(10):
            done = self.cluster.run(self.cluster.ann, "--", "sh", "-c",
                                    "echo mine > key; echo mine > /tmp/key; sleep 0.4; ls . /tmp | grep planted; true")
            self.assertEqual((done.stdout, done.returncode), ("", 0), done.stderr)
        self.assertEqual(kept.communicate(timeout=60)[0].replace("listens\n", ""), "done\n")

    def test_setup_folders_are_copied_and_handed_over_without_following_links(self):
        secret = self.cluster.data / f"secret-{os.urandom(4).hex()}"  # no task sees that by itself
        secret.mkdir(mode=0o700)
        for number in range(200):
            path = secret / f"f{number:03}"
            path.write_text(SECRET)
            path.chmod(0o600)
        owner = os.stat(self.cluster.folder)  # the agent's user
        for path in (secret, *secret.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
        name = f"cadre-walls-{os.urandom(4).hex()}"
        swapper = textwrap.dedent(f"""
            import ctypes, errno, os, socket, time
            listener = socket.socket(socket.AF_UNIX)
            listener.bind('\\0{name}')
            listener.listen()
            libc = ctypes.CDLL(None, use_errno=True)
            fd = socket.recv_fds(listener.accept()[0], 9, 9)[1][0]
            swaps, end = 0, time.monotonic() + 20
            while time.monotonic() < end:
                if libc.renameat2(fd, b'a', fd, b'b', 2) == 0:
                    swaps += 1
                    if swaps % 100 == 0:
                        print(time.time(), flush=True)
                elif swaps > 0 and ctypes.get_errno() == errno.ENOENT:
                    break  # the folder was removed
            """)
        setup = textwrap.dedent(f"""
            import os
            os.mkdir('a')
            for number in range(200):
                open(f'a/f{{number:03}}', 'w').write('own')
            os.symlink('{secret}', 'b')
            """) + give_descriptors(name, ["."])
        environment = {**os.environ, "CADRE_TOKEN": self.cluster.bob, "CADRE_MASTER": self.cluster.url}
        swaps = subprocess.Popen([str(PROGRAM), "run", "--", "/usr/bin/python3", "-c", swapper], env=environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(swaps.wait)
        self.addCleanup(swaps.kill)
        starts = []
        with tempfile.TemporaryDirectory() as code:
            pathlib.Path(code, "setup.py").write_text(setup)
            for _ in range(3):
                done = self.cluster.run(self.cluster.bob, "--dir", code, "--setup", "/usr/bin/python3 setup.py", "--",
                                        "sh", "-c", "date +%s.%N; cat a/* b/* 2>/dev/null; true")
                self.assertNotIn(SECRET, done.stdout)
                starts += [float(word) for word in done.stdout.split()[:1]]
        self.assertTrue(starts, done.stderr)
        said, fault = swaps.communicate(timeout=120)
        self.assertEqual(swaps.returncode, 0, fault)
        # The swaps begin at the end of the setup; the agent reads the folder then, before it starts the task.
        self.assertGreater(sum(float(swap) < starts[0] for swap in said.split()), 0, "nothing was swapped while it read")
        owners = {path.stat().st_uid for path in secret.iterdir()}
        self.assertEqual(owners, {owner.st_uid})

    def test_command_in_a_task_has_no_more_rights_than_the_task(self):
        environment = {**os.environ, "CADRE_TOKEN": self.cluster.ann, "CADRE_MASTER": self.cluster.url}
        done = subprocess.run([str(PROGRAM), "task", "exec", f"{self.job}.0", "--", "sh", "-c",
                               f"id -u; cat secret; echo; ls {self.cluster.data}/run; grep -c 'CapEff:.0*$' "
                               "/proc/self/status; umount /tmp || echo walled"],
                              env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        uid, secret, capabilities, unmounted = done.stdout.split()
        self.assertEqual((secret, capabilities, unmounted), (SECRET, "1", "walled"), done.stderr)
        self.assertNotEqual(uid, "0")


def give_descriptors(name, paths):
    """A program that sends descriptors of these to whoever listens at that abstract socket."""
    return textwrap.dedent(f"""
        import os, socket, time
        giver = socket.socket(socket.AF_UNIX)
        for _ in range(300):
            try:
                giver.connect('\\0{name}')
                break
            except OSError:
                time.sleep(0.1)
        socket.send_fds(giver, [b'x'], [os.open(path, os.O_RDONLY) for path in {list(paths)!r}])
        """)


def add_attempts(table, way):
    for name, body in table.items():
        def test(self, body=body):
            done = way(self, body)
            self.assertTrue(done.stdout.startswith("REFUSED"), done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
        setattr(Walls, "test_" + name, test)


add_attempts(ATTEMPTS, Walls.attempt)
add_attempts(ATTEMPTS_AT_THE_OWN_TASK, Walls.attempt_at_the_own_task)

if IS_ROOT:
    class AgentOfRoot(Walls, unittest.TestCase):
        AS_ROOT = True


class AgentOfAnOrdinaryUser(Walls, unittest.TestCase):
    AS_ROOT = False


class JoinedUnderTheSameAccount(unittest.TestCase):
    """An agent that only knows the address of its master, on the same host under the same account."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(False)
        cls.addClassCleanup(cls.cluster.close)
        printed = subprocess.check_output([str(PROGRAM), "agent", "token", "--master", cls.cluster.url], text=True,
                                          env={**os.environ, "CADRE_TOKEN": cls.cluster.admin},
                                          stderr=subprocess.DEVNULL)
        token = printed.split("--join ")[1].split()[0]
        with open(cls.cluster.folder / "joined.log", "wb") as log:
            agent = subprocess.Popen(
                [*cls.cluster.command, cls.cluster.program, "agent", "--join", token, "--data",
                 str(cls.cluster.data) + "-joined", "--id", "joined", "--slots", "1", "--label", "is=joined"],
                stdout=log, stderr=log, cwd="/", env={**os.environ, "HOME": str(cls.cluster.home)})
        cls.addClassCleanup(agent.wait, 60)
        cls.addClassCleanup(agent.terminate)
        cls.cluster.until(lambda: cls.cluster.ask("GET", "/status")["agents_up"] == 2)

    def run_there(self, token, *words):
        return self.cluster.run(token, "--selector", "is=joined", *words)

    def test_its_tasks_see_no_folder_of_the_master_or_of_another_agent(self):
        paths = [str(self.cluster.data / name) for name in ("client.json", "cadre.db", "agent/identity")]
        for path in paths:
            self.assertTrue(os.path.exists(path))
        done = self.run_there(self.cluster.bob, "--", "sh", "-c", "hostname; cat " + " ".join(paths))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        self.assertEqual(done.stderr.count("No such file"), len(paths), done.stderr)

    def test_its_owner_cannot_mount_the_masters_folder(self):
        done = self.run_there(self.cluster.admin, "--mount", f"{self.cluster.data}:/mnt", "--", "ls", "/mnt")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("belongs to a master or an agent", done.stderr)


class Consent(unittest.TestCase):
    """An agent that allows isolation to be off."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(IS_ROOT, "--allow-isolation-off")
        cls.addClassCleanup(cls.cluster.close)

    def test_isolation_may_be_off_for_its_owner_only(self):
        done = self.cluster.run(self.cluster.bob, "--isolation", "off", "--", "true")
        self.assertIn("only for the user that it runs for and for admins", done.stderr)
        done = self.cluster.run(self.cluster.admin, "--isolation", "off", "--", "sh", "-c",
                                f"id -u; pwd; echo x > f; cat f; cat {self.cluster.data}/client.json || echo hidden")
        self.assertEqual(done.returncode, 0, done.stderr)
        if IS_ROOT:
            uid, _, text, hidden = done.stdout.split()
            self.assertEqual((text, hidden), ("x", "hidden"))
            self.assertGreaterEqual(int(uid), 2_100_000_000)


class WithoutNamespaces(unittest.TestCase):
    """Where the kernel gives none, only the owner's jobs are taken."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(IS_ROOT, "--namespaces", "none")
        cls.addClassCleanup(cls.cluster.close)

    def test_the_owner_is_served_and_others_are_refused_in_words(self):
        done = self.cluster.run(self.cluster.admin, "--", "echo", "hello")
        self.assertEqual((done.stdout, done.returncode), ("hello\n", 0), done.stderr)
        done = self.cluster.run(self.cluster.bob, "--", "echo", "hello")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot isolate tasks of different users and accepts only jobs of 'admin'", done.stderr)

    def test_the_agent_reports_missing_namespaces(self):
        agent = self.cluster.ask("GET", "/agents")["agents"][0]
        self.assertIn("accepts only jobs of", " ".join(agent["isolation"]))


if __name__ == "__main__":
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
