"""A small WebDAV server, in memory, as a process of its own: ``python -m tests.servers.webdav``.

Folders come and go with the objects in them, as nginx has it (``create_full_put_path on``). Parts
of an upload, in a folder of their own, are put together by a ``MOVE`` of ``.file`` in it, as
Nextcloud has it. ``--login user:password``: what everybody has to say. ``--ignore-conditions``:
``If-None-Match`` and ``Overwrite`` are taken for granted, as simple servers do.

It listens on a free port of the loopback interface, prints the port, and ends when its standard
input does, so that it never outlives the tests.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.servers.process import listen_until_input_ends, running_python


@dataclass(frozen=True, slots=True)
class Resource:
    """Content, tag and date of an object."""

    content: bytes
    etag: str
    modified: str


class Refusal(Exception):  # noqa: N818
    """The status to answer with."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Tree:
    """Objects by path. Every method is atomic."""

    def __init__(self, heeds_conditions: bool) -> None:
        self._objects: dict[str, Resource] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._heeds_conditions = heeds_conditions

    def get(self, path: str) -> Resource:
        try:
            return self._objects[path]
        except KeyError:
            raise Refusal(404) from None

    def put(self, path: str, content: bytes, *, if_absent: bool) -> None:
        with self._lock:
            self._put(path, content, if_absent)

    def delete(self, path: str) -> None:
        with self._lock:
            below = [each for each in self._objects if path.endswith("/") and each.startswith(path)]
            for each in below or [path]:
                if self._objects.pop(each, None) is None:
                    raise Refusal(404)

    def assemble(self, folder: str, target: str, *, if_absent: bool) -> None:
        """Make an object of the parts in ``folder``, which are gone then."""
        with self._lock:
            parts = sorted(each for each in self._objects if each.startswith(folder))
            if not parts:
                raise Refusal(404)
            content = b"".join(self._objects[each].content for each in parts)
            self._put(target, content, if_absent)
            for each in parts:
                del self._objects[each]

    def below(self, folder: str, *, deep: bool) -> list[tuple[str, Resource]]:
        found = [
            (path, resource)
            for path, resource in list(self._objects.items())
            if path.startswith(folder) and (deep or "/" not in path[len(folder) :])
        ]
        if not found and folder != "/" and not self._is_folder(folder):
            raise Refusal(404)
        return found

    def _is_folder(self, path: str) -> bool:
        return any(each.startswith(path) for each in list(self._objects))

    def _put(self, path: str, content: bytes, if_absent: bool) -> None:
        if if_absent and self._heeds_conditions and path in self._objects:
            raise Refusal(412)
        number = next(self._numbers)
        self._objects[path] = Resource(content, f'"{number}"', formatdate(usegmt=True))


class Handler(BaseHTTPRequestHandler):
    """One request after the other."""

    protocol_version = "HTTP/1.1"

    def __init__(self, tree: Tree, login: str | None, *arguments: object) -> None:
        self._tree = tree
        self._login = login
        super().__init__(*arguments)  # type: ignore[arg-type]  # what the server hands over

    def _answer(self) -> None:
        """Take the whole request, whatever becomes of it, and answer it."""
        self._body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._path = unquote(urlsplit(self.path).path)
        try:
            self._check_login()
            getattr(self, f"_{self.command.lower()}")()
        except Refusal as refusal:
            self._say(refusal.status)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_COPY = do_MOVE = do_MKCOL = do_PROPFIND = _answer  # noqa: N815

    def _check_login(self) -> None:
        if self._login is not None:
            token = base64.b64encode(self._login.encode()).decode()
            if self.headers.get("Authorization") != f"Basic {token}":
                raise Refusal(401)

    def _get(self) -> None:
        found = self._tree.get(self._path)
        if self.headers.get("If-Match", found.etag) != found.etag:
            raise Refusal(412)
        wanted, size = self.headers.get("Range"), len(found.content)
        if wanted is None:
            self._say(200, found, found.content)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start, stop = int(first), min(int(last) + 1, size)
        if start >= size:
            raise Refusal(416)
        part = found.content[start:stop]
        self._say(206, found, part, {"Content-Range": f"bytes {start}-{stop - 1}/{size}"})

    def _head(self) -> None:
        found = self._tree.get(self._path)
        self._say(200, found, found.content)

    def _put(self) -> None:
        self._tree.put(self._path, self._body, if_absent=self.headers.get("If-None-Match") == "*")
        self._say(201)

    def _delete(self) -> None:
        self._tree.delete(self._path)
        self._say(204)

    def _copy(self) -> None:
        self._tree.put(
            self._destination(), self._tree.get(self._path).content, if_absent=self._keeps()
        )
        self._say(201)

    def _move(self) -> None:
        if not self._path.endswith("/.file"):
            raise Refusal(501)
        folder = self._path.removesuffix(".file")
        self._tree.assemble(folder, self._destination(), if_absent=self._keeps())
        self._say(201)

    def _mkcol(self) -> None:
        self._say(201)

    def _propfind(self) -> None:
        deep = self.headers.get("Depth") == "infinity"
        responses = "".join(
            f"<d:response><d:href>{escape(quote(path))}</d:href><d:propstat><d:prop>"
            f"<d:getcontentlength>{len(found.content)}</d:getcontentlength>"
            f"<d:getlastmodified>{found.modified}</d:getlastmodified>"
            f"<d:getetag>{escape(found.etag)}</d:getetag><d:resourcetype/></d:prop>"
            "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"
            for path, found in self._tree.below(self._path, deep=deep)
        )
        folder = (
            f"<d:response><d:href>{escape(quote(self._path))}</d:href><d:propstat><d:prop>"
            "<d:resourcetype><d:collection/></d:resourcetype></d:prop></d:propstat></d:response>"
        )
        text = f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{folder}{responses}'
        self._say(207, None, f"{text}</d:multistatus>".encode())

    def _destination(self) -> str:
        return unquote(urlsplit(self.headers["Destination"]).path)

    def _keeps(self) -> bool:
        return self.headers.get("Overwrite") == "F"

    def _say(
        self,
        status: int,
        resource: Resource | None = None,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        if resource is not None:
            self.send_header("ETag", resource.etag)
            self.send_header("Last-Modified", resource.modified)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def running_webdav(*arguments: str) -> AbstractContextManager[str]:
    """``host:port`` of a server that is ready to answer, until the block ends."""
    return running_python("-m", "tests.servers.webdav", *arguments)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--login")
    parser.add_argument("--ignore-conditions", action="store_true")
    chosen = parser.parse_args()
    tree = Tree(heeds_conditions=not chosen.ignore_conditions)
    server = _Server(("127.0.0.1", 0), partial(Handler, tree, chosen.login))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    listen_until_input_ends(server.server_port)


if __name__ == "__main__":
    main()
