"""TLS and HTTP/2: certificates are checked, one connection carries many requests."""

import asyncio
import shutil
import ssl
import subprocess

import h2.config
import h2.connection
import h2.events
import pytest

from indexer.adapters.http import HttpFetch
from indexer.artifacts import Reason
from indexer.errors import Permanent
from indexer.settings import Crawl

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, chain = folder / "key.pem", folder / "chain.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", chain, "-subj", "/CN=shop.example", "-addext", "subjectAltName=DNS:shop.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, chain


class _Http2(asyncio.Protocol):
    connections = 0

    def connection_made(self, transport):
        type(self).connections += 1
        self.transport = transport
        self.state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.state.initiate_connection()
        transport.write(self.state.data_to_send())

    def data_received(self, data):
        for event in self.state.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                path = dict(event.headers)[b":path"]
                self.state.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/html")])
                self.state.send_data(event.stream_id, b"<p>" + path, end_stream=True)
        self.transport.write(self.state.data_to_send())


def _serve(certificate, use, *, alpn=("h2",), protocol=_Http2):
    """Run `use(port)` beside a TLS server."""
    key, chain = certificate

    async def main():
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(chain, key)
        context.set_alpn_protocols(list(alpn))
        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=context)
        try:
            return await use(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            await server.wait_closed()

    return asyncio.run(main())


def _client(certificate, port, *, trusted=True, host="shop.example"):
    async def resolver(name, _port):
        return ["127.0.0.1"]

    crawl = Crawl(delay=0.0, retries=0, timeout=5.0, allow_private=(f"{host}:{port}",))
    context = ssl.create_default_context(cafile=certificate[1]) if trusted else None
    return HttpFetch(crawl, resolver=resolver, ssl_context=context)


def test_requests_share_one_http2_connection(certificate):
    _Http2.connections = 0

    async def use(port):
        fetch = _client(certificate, port)
        answers = await asyncio.gather(*(fetch(f"https://shop.example:{port}/p{n}") for n in range(8)))
        await fetch.aclose()
        return [answer.body for answer in answers]

    assert _serve(certificate, use) == [b"<p>/p%d" % n for n in range(8)]
    assert _Http2.connections == 1


@pytest.mark.parametrize(("trusted", "host"), [(False, "shop.example"), (True, "other.example")])
def test_a_certificate_that_is_not_trusted_or_not_the_hosts_is_final(certificate, trusted, host):
    async def use(port):
        fetch = _client(certificate, port, trusted=trusted, host=host)
        try:
            await fetch(f"https://{host}:{port}/")
        except Permanent as error:
            return error
        finally:
            await fetch.aclose()

    error = _serve(certificate, use)
    assert error is not None
    assert error.reason == Reason.UNREACHABLE
    assert "certificate" in str(error).lower()
