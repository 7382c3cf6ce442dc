"""Is this webhook from the bridge? Standard Webhooks, scheme v1, with nothing but Python.

Call it with the body as it came, before anything parses it.
"""

import base64
import hashlib
import hmac
import re
import time

TOLERANCE_SECONDS = 300  # clocks may differ by this much, and a request may not be older
SHORTEST_SECRET_BYTES = 24  # a shorter one is none, e.g. a setting that is empty


def is_genuine(
    secret: str, webhook_id: str, timestamp: str, signature: str, body: bytes, now: float | None = None
) -> bool:
    """secret is the text that the bridge gave: whsec_...; headers are "" where one is missing.

    Raises ValueError where the secret is none.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    if len(key) < SHORTEST_SECRET_BYTES:
        raise ValueError("the webhook secret is missing or cut")
    if not webhook_id or not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    message = f"{webhook_id}.{timestamp}.".encode() + body
    mac = hmac.new(key, message, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(mac)
    # One for each secret: two while a secret is being replaced.
    return any(hmac.compare_digest(given.encode(), expected) for given in signature.split(" "))
