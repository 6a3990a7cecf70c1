"""The test site itself: what other tests rely on."""

import httpx
import pytest

from tests.support.web import Reply, Site


@pytest.fixture
def site():
    with Site({"/": "<p>Hello"}) as site:
        yield site


def test_a_page_has_validators_and_answers_304_to_them(site):
    with httpx.Client() as client:
        first = client.get(site.url("/"))
        again = client.get(site.url("/"), headers={"If-None-Match": first.headers["etag"]})
        dated = client.get(site.url("/"), headers={"If-Modified-Since": first.headers["last-modified"]})

    assert (first.status_code, again.status_code, dated.status_code) == (200, 304, 304)
    assert site.paths() == ["/", "/", "/"]
    assert [request.status for request in site.log] == [200, 304, 304]
    assert site.connections == 1


def test_a_route_sees_the_request_and_an_unknown_path_is_404(site):
    site.route("/echo", lambda request: Reply(request.headers["x-word"], content_type="text/plain"))
    with httpx.Client() as client:
        assert client.get(site.url("/echo?a=1"), headers={"X-Word": "hey"}).text == "hey"
        assert client.get(site.url("/none")).status_code == 404


def test_faults_happen_as_often_as_told(site):
    site.fault("/", "status", status=503, times=2, headers={"Retry-After": "1"})
    with httpx.Client() as client:
        answers = [client.get(site.url("/")) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert answers[0].headers["retry-after"] == "1"


@pytest.mark.parametrize("kind", ["drop", "truncate", "garbage", "hang", "stall"])
def test_a_broken_exchange_is_an_error_for_the_client(site, kind):
    site.fault("/", kind)
    with httpx.Client(timeout=0.3) as client, pytest.raises(httpx.TransportError):
        client.get(site.url("/"))
