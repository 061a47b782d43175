"""Makes a client in Python from an OpenAPI document alone. usage: make_client.py < openapi.json > client.py

It knows nothing of cadre: each operation becomes a method whose arguments are the operation's parameters and the
properties of its body.
"""
import json
import keyword
import sys

HEAD = '''"""Made from an OpenAPI document; do not change."""
import json
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    def __init__(self, status, problem):
        super().__init__(f"{status}: {problem.get('detail')}")
        self.status = status
        self.problem = problem


class Client:
    def __init__(self, url, token=None):
        self.url = url
        self.token = token

    def _ask(self, method, path, query, body, raw):
        query = {key: json.dumps(value) if isinstance(value, bool) else value
                 for key, value in query.items() if value is not None}
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        data = raw
        if body is not None:
            data = json.dumps({key: value for key, value in body.items() if value is not None}).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request) as response:
                content = response.read()
                if response.headers["Content-Type"] == "application/x-ndjson":
                    return [json.loads(line) for line in content.splitlines()]
                is_json = response.headers["Content-Type"] == "application/json"
                return json.loads(content) if is_json else content
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.loads(error.read())) from None
'''


def method_text(verb, path, operation, base):
    parameters = [one for one in operation.get("parameters", []) if one["in"] != "header"]
    contents = operation.get("requestBody", {}).get("content", {})
    schema = contents.get("application/json", {}).get("schema", {})
    needed = [one["name"] for one in parameters if one["required"]] + schema.get("required", [])
    others = [one["name"] for one in parameters if not one["required"]]
    others += [name for name in schema.get("properties", {}) if name not in needed]
    takes_bytes = "application/octet-stream" in contents
    # `from` becomes `from_`
    called = {name: name + "_" if keyword.iskeyword(name) else name for name in needed + others}
    arguments = ["self", *map(called.get, needed)] + (["raw"] if takes_bytes else [])
    arguments += [f"{called[name]}=None" for name in others]
    where = base + path
    in_path = [one["name"] for one in parameters if one["in"] == "path"]
    in_query = [one["name"] for one in parameters if one["in"] == "query"]
    for name in in_path:
        where = where.replace("{" + name + "}", "{urllib.parse.quote(str(" + called[name] + "), safe='')}")
    pairs = lambda names: "{" + ", ".join(f'"{name}": {called[name]}' for name in names) + "}"
    body = pairs(schema["properties"]) if schema else "None"
    return (f"\n    def {operation['operationId']}({', '.join(arguments)}):\n"
            f'        """{operation["summary"]} {operation["description"]}"""\n'
            f"        return self._ask({verb.upper()!r}, f{where!r}, {pairs(in_query)}, {body}, "
            f"{'raw' if takes_bytes else 'None'})\n")


def main():
    document = json.load(sys.stdin)
    text = HEAD
    for path, methods in document["paths"].items():
        for verb, operation in methods.items():
            if "200" in operation["responses"]:
                text += method_text(verb, path, operation, document["servers"][0]["url"])
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
