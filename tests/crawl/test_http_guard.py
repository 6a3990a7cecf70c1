"""Where connections may go."""

import asyncio
import socket

import pytest

from indexer.adapters.http_guard import GuardedBackend, is_public
from indexer.artifacts import Reason
from indexer.errors import Permanent, Retryable
from tests.support.web import Site

PRIVATE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0",
    "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::", "2002:a00:1::1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:db8::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_not_everybody_reaches_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are(address):
    assert is_public(address)


def _connect(host, port, *, allowed=(), answers=None):
    calls = []

    async def resolver(name, _port):
        calls.append(name)
        found = answers(len(calls)) if callable(answers) else answers
        if isinstance(found, Exception):
            raise found
        return found

    async def main():
        stream = await GuardedBackend(allowed, resolver=resolver).connect_tcp(host, port, timeout=2)
        peer = stream.get_extra_info("peername")
        await stream.aclose()
        return peer

    return asyncio.run(main()), calls


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_with_a_private_address_is_refused_before_connecting(address):
    with pytest.raises(Permanent, match="--allow-private") as error:
        _connect("innocent.example", 80, answers=[address])
    assert error.value.reason == Reason.FORBIDDEN_ADDRESS


def test_one_private_address_among_public_ones_is_enough_to_refuse():
    with pytest.raises(Permanent) as error:
        _connect("innocent.example", 80, answers=["93.184.216.34", "10.0.0.1"])
    assert error.value.reason == Reason.FORBIDDEN_ADDRESS


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_addresses_as_host_names_are_checked_without_a_resolver(host):
    with pytest.raises(Permanent) as error:
        _connect(host, 80, answers=AssertionError("not asked"))
    assert error.value.reason == Reason.FORBIDDEN_ADDRESS


def test_only_the_named_host_and_port_may_be_private():
    with Site() as site, Site() as other:
        (peer, _) = _connect("127.0.0.1", site.port, allowed=[site.host])
        assert peer[1] == site.port
        (peer, _) = _connect(
            "intranet.example", site.port, allowed=[f"Intranet.Example:{site.port}"], answers=["127.0.0.1"]
        )
        assert peer[1] == site.port
        with pytest.raises(Permanent):
            _connect("127.0.0.1", other.port, allowed=[site.host])


def test_the_checked_address_is_the_one_that_is_connected_to():
    """A name that answers differently the second time is not asked a second time."""
    with Site() as site:
        answers = lambda call: ["127.0.0.1"] if call == 1 else ["10.0.0.1"]  # noqa: E731
        peer, calls = _connect(
            "rebind.example", site.port, allowed=[f"rebind.example:{site.port}"], answers=answers
        )
        assert peer[0] == "127.0.0.1"
        assert calls == ["rebind.example"]


def test_the_next_address_is_tried_when_one_does_not_answer():
    with Site() as site:
        peer, _ = _connect(
            "two.example", site.port, allowed=[f"two.example:{site.port}"], answers=["127.0.0.2", "127.0.0.1"]
        )
        assert peer[0] == "127.0.0.1"


def test_a_name_that_does_not_exist_is_final_and_a_resolver_that_is_busy_is_not():
    with pytest.raises(Permanent) as error:
        _connect("no.example", 80, answers=socket.gaierror(socket.EAI_NONAME, "unknown"))
    assert error.value.reason == Reason.UNREACHABLE
    with pytest.raises(Retryable):
        _connect("no.example", 80, answers=socket.gaierror(socket.EAI_AGAIN, "busy"))
