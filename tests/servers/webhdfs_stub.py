"""A stub of WebHDFS for tests: NAME_PORT DATA_PORT CAPACITY. Ends when it is killed.

A name node that knows files and redirects reads and writes to a data node; errors, permissions and the meaning of
RENAME are those of HDFS as its documentation describes them. The folder /stores belongs to the user cadre, all others
to hdfs; only owners see or change what is in a folder. Everything is in memory.
"""
import http.server
import json
import sys
import threading
import time
import urllib.parse

NAME_PORT, DATA_PORT, CAPACITY = map(int, sys.argv[1:])
PREFIX = "/webhdfs/v1"
lock = threading.RLock()


class File:
    def __init__(self, owner, is_folder):
        self.owner = owner
        self.is_folder = is_folder
        self.content = b""
        self.attributes = {}
        self.modified = int(time.time() * 1000)


files = {"/": File("hdfs", True), "/stores": File("cadre", True)}


class Refused(Exception):
    def __init__(self, status, exception, message):
        super().__init__(message)
        self.status, self.exception = status, exception


def missing(path):
    return Refused(404, "FileNotFoundException", f"File does not exist: {path}")


def parent(path):
    return path.rsplit("/", 1)[0] or "/"


def check(path, user):
    """All above the path are folders that the user may enter."""
    if any(part in (".", "..") or ":" in part for part in path.split("/")):
        raise Refused(400, "IllegalArgumentException", f"Invalid path name {path}")
    above = path
    while above != "/":
        above = parent(above)
        found = files.get(above)
        if found and not found.is_folder:
            raise Refused(403, "ParentNotDirectoryException", f"{above} (is not a directory)")
        if found and above != "/" and found.owner != user:
            raise Refused(403, "AccessControlException", f"Permission denied: user={user}, access=EXECUTE, inode=\"{above}\"")


def check_writable(path, user):
    check(path, user)
    above = parent(path)
    while above not in files:
        above = parent(above)
    if files[above].owner != user:
        raise Refused(403, "AccessControlException", f"Permission denied: user={user}, access=WRITE, inode=\"{above}\"")


def make_folders(path, user):
    check_writable(path, user)
    if path in files:
        if not files[path].is_folder:
            raise Refused(403, "FileAlreadyExistsException", f"Path is not a directory: {path}")
        return
    if path != "/":
        make_folders(parent(path), user) if parent(path) not in files else None
        files[path] = File(user, True)


def status_of(path, name):
    found = files[path]
    return {"pathSuffix": name, "type": "DIRECTORY" if found.is_folder else "FILE", "length": len(found.content),
            "modificationTime": found.modified, "accessTime": 0, "blockSize": 134217728, "group": "g",
            "owner": found.owner, "permission": "700", "replication": 1}


def below(path):
    top = path if path.endswith("/") else path + "/"
    return [other for other in files if other.startswith(top) and other != path]


def get_status(path, user, _):
    check(path, user)
    if path not in files:
        raise missing(path)
    return {"FileStatus": status_of(path, "")}


def list_status(path, user, _):
    check(path, user)
    if path not in files:
        raise missing(path)
    if not files[path].is_folder:
        return {"FileStatuses": {"FileStatus": [status_of(path, "")]}}
    if files[path].owner != user:
        raise Refused(403, "AccessControlException", f"Permission denied: user={user}, access=READ, inode=\"{path}\"")
    children = [other for other in below(path) if parent(other) == path]
    return {"FileStatuses": {"FileStatus": [status_of(child, child.rsplit("/", 1)[1]) for child in children]}}


def make_directory(path, user, _):
    make_folders(path, user)
    return {"boolean": True}


def rename(path, user, query):
    to = query["destination"]
    check_writable(path, user)
    check_writable(to, user)
    if path not in files:
        return {"boolean": False}
    if to in files and files[to].is_folder:
        to = to + "/" + path.rsplit("/", 1)[1]
    if to in files or parent(to) not in files:
        return {"boolean": False}
    files[to] = files.pop(path)
    return {"boolean": True}


def delete(path, user, query):
    check_writable(path, user)
    if path not in files:
        return {"boolean": False}
    if below(path) and query.get("recursive") != "true":
        raise Refused(403, "PathIsNotEmptyDirectoryException", f"{path} is non empty")
    for other in below(path):
        del files[other]
    del files[path]
    return {"boolean": True}


def set_attribute(path, user, query):
    check_writable(path, user)
    if path not in files:
        raise missing(path)
    name = query["xattr.name"]
    if not name.startswith("user."):
        raise Refused(403, "HadoopIllegalArgumentException", "An XAttr name must be prefixed")
    if query["flag"] == "CREATE" and name in files[path].attributes:
        raise Refused(403, "IOException", f"XAttr: {name} already exists. The REPLACE flag must be specified.")
    files[path].attributes[name] = query["xattr.value"]
    return None


def get_attributes(path, user, query):
    check(path, user)
    if path not in files:
        raise missing(path)
    name = query["xattr.name"]
    if name not in files[path].attributes:
        raise Refused(403, "IOException", "At least one of the attributes provided was not found.")
    return {"XAttrs": [{"name": name, "value": files[path].attributes[name]}]}


OPERATIONS = {("GET", "GETFILESTATUS"): get_status, ("GET", "LISTSTATUS"): list_status,
              ("PUT", "MKDIRS"): make_directory, ("PUT", "RENAME"): rename, ("DELETE", "DELETE"): delete,
              ("PUT", "SETXATTR"): set_attribute, ("GET", "GETXATTRS"): get_attributes}


class Node(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, refused):
        remote = {"exception": refused.exception, "javaClassName": "x." + refused.exception, "message": str(refused)}
        self.answer(refused.status, json.dumps({"RemoteException": remote}).encode())

    def serve(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        path = urllib.parse.unquote(url.path[len(PREFIX):])
        try:
            self.perform(path, query.get("user.name", "dr.who"), query)
        except Refused as refused:
            self.refuse(refused)

    do_GET = do_PUT = do_DELETE = serve


class NameNode(Node):
    def perform(self, path, user, query):
        operation = (self.command, query["op"])
        if operation in [("PUT", "CREATE"), ("GET", "OPEN")]:
            with lock:
                check(path, user)
                if operation[0] == "PUT":
                    check_writable(path, user)
                elif path not in files:
                    raise missing(path)
            query["namenoderpcaddress"] = "localhost:8020"
            target = PREFIX + urllib.parse.quote(path) + "?" + urllib.parse.urlencode(query)
            return self.answer(307, headers=[("Location", f"http://127.0.0.1:{DATA_PORT}{target}")])
        if operation not in OPERATIONS:
            raise Refused(400, "IllegalArgumentException", f"Invalid value for webhdfs parameter \"op\": {operation}")
        with lock:
            body = OPERATIONS[operation](path, user, query)
        self.answer(200, b"" if body is None else json.dumps(body).encode())


class DataNode(Node):
    def perform(self, path, user, query):
        self.create(path, user, query) if query["op"] == "CREATE" else self.open(path, query)

    def create(self, path, user, query):
        with lock:
            check_writable(path, user)
            if path in files and (files[path].is_folder or query.get("overwrite") != "true"):
                raise Refused(403, "FileAlreadyExistsException", f"{path} already exists")
            if parent(path) not in files:
                make_folders(parent(path), user)
            made = files[path] = File(user, False)
        left = int(self.headers["Content-Length"])
        while left > 0:
            piece = self.rfile.read1(min(left, 1 << 16))
            if not piece:
                self.close_connection = True
                return
            left -= len(piece)
            with lock:
                if sum(len(other.content) for other in files.values()) + len(piece) > CAPACITY:
                    self.close_connection = True
                    self.rfile.read(left)
                    raise Refused(403, "IOException", f"File {path} could only be written to 0 of the 1 minReplication "
                                  "nodes. There are 1 datanode(s) running and no node(s) are excluded.")
                made.content += piece
        self.answer(201, headers=[("Location", f"hdfs://localhost:8020{path}")])

    def open(self, path, query):
        with lock:
            if path not in files or files[path].is_folder:
                raise missing(path)
            content = files[path].content
        offset = int(query.get("offset", "0"))
        self.answer(200, content[offset:offset + int(query.get("length", len(content)))])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


data = Server(("127.0.0.1", DATA_PORT), DataNode)
threading.Thread(target=data.serve_forever, daemon=True).start()
Server(("127.0.0.1", NAME_PORT), NameNode).serve_forever()
