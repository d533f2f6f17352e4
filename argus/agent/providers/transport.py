"""One HTTP request with patience: what may pass is tried again, what will not is an error at once.

Tried again: no connection, time-out, 408, 429, 5xx. Between attempts it waits as long as the server asks
(`Retry-After`, at most a minute) or 1, 2, 4 … seconds. Everything else that is not 200 is final. Redirects are not
followed: a key goes only to the address the user named. An address may hold a password, or a
key in its query; messages show it without them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx

from argus.agent.providers.errors import ProviderError, redact

AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Transport:
    """Posts JSON, gets JSON."""

    attempts: int = 4
    seconds: float = 300.0
    sleep: Callable[[float], None] = field(default=time.sleep)

    def post(self, url: str, headers: Mapping[str, str], body: Mapping[str, Any], secrets: tuple[str, ...]) -> Any:
        """The decoded answer of `url`, or a `ProviderError` without `secrets` in its text."""
        place = shown(url)
        failure = ProviderError("ARG-P110", f"{place}: not tried")
        with httpx.Client(timeout=self.seconds, follow_redirects=False) as client:
            for attempt in range(self.attempts):
                try:
                    response = client.post(url, headers=dict(headers), json=dict(body))
                except httpx.HTTPError as error:
                    text = redact(str(error) or type(error).__name__, secrets)
                    failure = ProviderError("ARG-P110", f"{place}: {text} ({attempt + 1} attempts)")
                    wait = None
                except (httpx.InvalidURL, ValueError) as error:
                    raise ProviderError("ARG-P110", f"{place}: {redact(str(error), secrets)}") from error
                else:
                    if response.status_code == 200:
                        return _decoded(response, place, secrets)
                    failure = _refusal(response, place, attempt + 1, secrets)
                    if response.status_code not in AGAIN:
                        raise failure
                    wait = response.headers.get("retry-after")
                if attempt + 1 < self.attempts:
                    self.sleep(_pause(wait, attempt))
        raise failure


def shown(url: str) -> str:
    """An address as messages show it: scheme, host and path."""
    scheme, colon, rest = url.partition("?")[0].partition("#")[0].rpartition("://")
    return f"{scheme}{colon}{rest.rpartition('@')[2]}"


def hidden(url: str) -> tuple[str, ...]:
    """What in an address is secret: the password, also as it is written there, and the values of the query."""
    try:
        parts = urlsplit(url)
        password = parts.password or ""
        return (password, unquote(password), *(value for _, value in parse_qsl(parts.query)))
    except ValueError:
        return ()


def _decoded(response: httpx.Response, place: str, secrets: tuple[str, ...]) -> Any:
    try:
        return response.json()
    except ValueError as error:
        shown = redact(response.text, secrets)
        raise ProviderError("ARG-P106", f"{place}: the answer is not JSON: {shown!r}") from error


def _refusal(response: httpx.Response, place: str, attempts: int, secrets: tuple[str, ...]) -> ProviderError:
    status = response.status_code
    text = redact(response.text, secrets)
    if status == 429:
        return ProviderError("ARG-P104", f"{place}: limits the rate (HTTP 429, {attempts} attempts): {text}")
    if status >= 500:
        return ProviderError("ARG-P105", f"{place}: fails (HTTP {status}, {attempts} attempts): {text}")
    return ProviderError("ARG-P103", f"{place}: refuses the request (HTTP {status}): {text}")


def _pause(asked: str | None, attempt: int) -> float:
    try:
        return min(max(float(asked), 0.0), LONGEST_WAIT) if asked is not None else min(2.0**attempt, LONGEST_WAIT)
    except ValueError:
        return min(2.0**attempt, LONGEST_WAIT)
