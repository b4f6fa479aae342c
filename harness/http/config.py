"""Configure the HTTP service."""

from typing import Annotated

from vendor_shims.schema import Ge, config, field


@config
class HttpConfig:
    """What holds for every client of one service."""

    user_agent: str = field(default="dsh-harness", doc="sent unless a request has its own")
    shards: Annotated[int, Ge(1)] = field(
        default=64,
        doc="how many clients the keys are spread over; one shared pool grows slower with each key",
    )
    keepalive_s: Annotated[float, Ge(0)] = field(
        default=60.0, doc="how long an idle connection is kept, in seconds"
    )
    trust_env: bool = field(
        default=True, doc="honour HTTP_PROXY, HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE"
    )
