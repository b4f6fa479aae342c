"""Check whether the provider can be reached, and whether its clock agrees with ours."""

import asyncio
import time
from email.utils import mktime_tz, parsedate_tz

from harness.http import HttpError, HttpRequest, HttpResponse, HttpService, HttpTimeouts
from harness_plugins.launcher.commands.auth_keys import launch_keys
from harness_plugins.launcher.commands.checks import Finding, fail, ok, warn
from harness_plugins.launcher.commands.command import Surroundings
from harness_plugins.launcher.target import official_url
from vendor_shims.cordis import Context

_LIMITS = HttpTimeouts(connect_s=10.0, first_byte_s=10.0, idle_s=10.0)
_TOLERATED_S = 300.0


def net_findings(surroundings: Surroundings) -> list[Finding]:
    """Return what a request to the provider, without any key, came to."""
    url = official_url(launch_keys(surroundings))
    return asyncio.run(_findings(url))


async def _findings(url: str) -> list[Finding]:
    try:
        response = await _ask(f"{url}/models")
    except HttpError as error:
        fix = "check network and proxy (HTTPS_PROXY, NO_PROXY), or name another server"
        return [fail("endpoint", str(error), fix)]
    return [ok("endpoint", f"{url} answers (HTTP {response.status})"), _clock(response)]


async def _ask(url: str) -> HttpResponse:
    async with Context() as ctx:
        ctx.plugin(HttpService)
        await ctx.settle()
        return await ctx[HttpService].request(HttpRequest("GET", url, timeouts=_LIMITS))


def _clock(response: HttpResponse) -> Finding:
    date = parsedate_tz(response.headers.get("date", ""))
    if date is None:
        return ok("server clock", "the server does not tell the time")
    off_s = time.time() - mktime_tz(date)
    if abs(off_s) > _TOLERATED_S:
        return warn("server clock", f"this clock is {off_s:+.0f} s off", "set the clock")
    return ok("server clock", f"within {_TOLERATED_S:.0f} s of this one")
