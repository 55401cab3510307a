"""Serves one page to every process on this machine that knows its address.

The server sends the page only for one path, which contains a random token. The server answers only
requests that name this machine as the host. Without this rule, another web page could read the page
through a host name that resolves to this machine. The server holds the page in memory, and reads
and writes no files.
"""

from __future__ import annotations

import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"

POLICY = "frame-ancestors 'none'"
"""Forbids other pages from embedding this page. The page itself contains the rest of its content
security policy."""


class Server(ThreadingHTTPServer):
    """Serves a page at a random port until it is shut down."""

    daemon_threads = True

    def __init__(self, page: bytes) -> None:
        self.page = page
        self.path = f"/{secrets.token_urlsafe(24)}/"
        super().__init__((HOST, 0), _Handler)

    @property
    def address(self) -> str:
        """Return the address of the page."""
        return f"http://{HOST}:{self.server_port}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "tailback"
    sys_version = ""
    # Seconds after which a connection that sends nothing is closed.
    timeout = 30

    def do_GET(self) -> None:
        """Send the page, or status 404 for any other path."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Send only the headers that GET would send."""
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        known = self.headers.get("Host") == f"{HOST}:{self.server.server_port}"
        path = self.path.partition("?")[0]
        if not (known and secrets.compare_digest(path.encode(), self.server.path.encode())):
            self.send_error(404)
            return
        self.send_response(200)
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(self.server.page)),
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(self.server.page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class has this name)
        """Print nothing, because a log line would contain the token."""
