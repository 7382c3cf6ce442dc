"""Follows a bridge over server-sent events with nothing but Python 3.9 or newer.

STREAM_URL=http://127.0.0.1:8080 STREAM_TOKEN=... python3 follow.py CURSOR_FILE [PARAMETERS]

PARAMETERS: a filter, and where the first start begins, as in an address; e.g. "importance=high%2B&tail=20".
"""

import http.client
import json
import os
import pathlib
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

STREAM = os.environ.get("STREAM_URL", "http://127.0.0.1:8080") + "/v1/events"
STARTS = ("after", "since", "tail")
SILENCE_SECONDS = 45  # the bridge gives a sign of life every 15
LATER = (429, 500, 502, 503, 504)


def work(event):
    """Yours: store the event. Its cursor is kept when this returns."""
    print(event["sequence"], event["id"], event["data"].get("headline", event["type"]), flush=True)


def keep(file, cursor):
    """Keeps the place whole. Better: in the transaction that stores the event."""
    file.with_suffix(".new").write_text(cursor)
    file.with_suffix(".new").replace(file)


def messages(response):
    """(event, data, id) of each message, as far as the bridge uses the format."""
    name, data, cursor = "", [], ""
    for line in response:
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif field == "id":
            cursor = value
        elif not line.strip():
            yield name, "\n".join(data), cursor
            name, data, cursor = "", [], ""


def follow(file, parameters):
    """One connection. Returns whether it brought anything, and the seconds that a stopping bridge asks to wait."""
    useful, wait = False, None
    headers = {"Authorization": "Bearer " + os.environ["STREAM_TOKEN"], "Accept": "text/event-stream"}
    if file.exists():
        # A beginning is for the first start only: the cursor is the better one.
        parameters = [(name, value) for name, value in parameters if name not in STARTS]
        headers["Last-Event-ID"] = file.read_text()
    request = urllib.request.Request(STREAM + "?" + urllib.parse.urlencode(parameters), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SILENCE_SECONDS) as response:
            for name, data, cursor in messages(response):
                if name in ("disclosure", "gap"):
                    work(json.loads(data))
                elif name == "going_away":
                    wait = json.loads(data)["reconnectInMs"] / 1000
                if cursor:
                    keep(file, cursor)
                    useful = True
    except urllib.error.HTTPError as error:
        if error.code not in LATER:
            sys.exit(f"{error.code} {error.read().decode(errors='replace')}")
        print(f"the bridge answers {error.code}", file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        print(f"the stream broke: {error}", file=sys.stderr)
    return useful, wait


def main():
    file = pathlib.Path(sys.argv[1])
    parameters = urllib.parse.parse_qsl(sys.argv[2] if len(sys.argv) > 2 else "tail=1000")
    useless = 0
    while True:
        useful, wait = follow(file, parameters)
        useless = 0 if useful else useless + 1
        time.sleep(random.uniform(0, min(30, 0.5 * 2**useless)) if wait is None else wait)


if __name__ == "__main__":
    main()
