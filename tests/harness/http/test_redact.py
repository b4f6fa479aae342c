"""What may be shown of requests."""

from typing import Any

import pytest

from harness.http import HttpRequest, HttpResponse, redact_headers, redact_url


def test_only_harmless_headers_keep_their_value():
    headers = [("Content-Type", "a/b"), ("Authorization", "x"), ("X-Api-Key", "y"), ("Cookie", "z")]
    assert redact_headers(headers) == (
        ("Content-Type", "a/b"),
        ("Authorization", "[redacted]"),
        ("X-Api-Key", "[redacted]"),
        ("Cookie", "[redacted]"),
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/p", "https://h/p"),
        ("https://user:pass@h:8/p?a=1&b=2#frag", "https://h:8/p?a=…&b=…"),
        ("https://h/?hunter2", "https://h/?…"),
        ("http://[::1", "[unreadable URL]"),
        ("", ""),
    ],
)
def test_a_url_shows_no_user_no_values_and_no_fragment(url, shown):
    assert redact_url(url) == shown


def test_requests_and_responses_print_without_secrets():
    request = HttpRequest("GET", "http://u:p@h/?t=s3", {"authorization": "s3"}, b"s3")
    assert repr(request) == (
        "HttpRequest(GET http://h/?t=…, {'authorization': '[redacted]'}, 2 bytes)"
    )
    response = HttpResponse(200, {"set-cookie": "s3"}, b"s3")
    assert repr(response) == "HttpResponse(200, 2 bytes)"
    assert HttpResponse(200, {}, b"\xff").text() == "\ufffd"
    headers: Any = response.headers
    with pytest.raises(TypeError):
        headers["x"] = "y"
