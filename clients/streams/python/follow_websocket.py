"""Follows a bridge over its WebSocket with the package websockets (14 or newer).

STREAM_URL=ws://127.0.0.1:8080 STREAM_TOKEN=... python3 follow_websocket.py CURSOR_FILE
"""

import json
import os
import pathlib
import random
import sys
import time

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

STREAM = os.environ.get("STREAM_URL", "ws://127.0.0.1:8080") + "/v1/stream"
SILENCE_SECONDS = 40  # the bridge gives a sign of life every 15


def keep(file, cursor):
    """Keeps the place whole. Better: in the transaction that stores the event."""
    file.with_suffix(".new").write_text(cursor)
    file.with_suffix(".new").replace(file)


def follow(file, state):
    """One connection; raises when it ends."""
    headers = {"Authorization": "Bearer " + os.environ["STREAM_TOKEN"]}
    with connect(STREAM, additional_headers=headers, max_size=None) as socket:
        start = {"after": file.read_text()} if file.exists() else {"tail": 1000}
        socket.send(json.dumps({"action": "subscribe", "filter": {}, "from": start}))
        while True:
            message = json.loads(socket.recv(timeout=SILENCE_SECONDS))
            if message["type"] in ("disclosure", "gap"):
                event = message["event"]
                print(event["sequence"], event["id"], event["data"].get("headline", event["type"]), flush=True)
                keep(file, event["cursor"])
                state["useless"] = 0
            elif message["type"] in ("live", "heartbeat"):
                keep(file, message["cursor"])
                state["useless"] = 0
            elif message["type"] == "going_away":
                state["wait"] = message["reconnectInMs"] / 1000
            elif message["type"] == "error":
                print(message["detail"], file=sys.stderr)
                if message["code"] in (400, 410):
                    sys.exit(1)


def main():
    file, state = pathlib.Path(sys.argv[1]), {"useless": 0}
    while True:
        state["wait"] = None
        try:
            follow(file, state)
        except ConnectionClosed as closed:
            code, reason = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
            print(f"closed with {code} {reason}", file=sys.stderr)
            if 4000 <= code < 4100:
                sys.exit(1)
        except InvalidStatus as refused:
            print(f"the bridge answers {refused.response.status_code}", file=sys.stderr)
            if 400 <= refused.response.status_code < 500:
                sys.exit(1)
        except OSError as error:  # TimeoutError is one
            print(f"the stream broke: {error}", file=sys.stderr)
        limit = min(30, 0.5 * 2 ** state["useless"])
        state["useless"] += 1
        time.sleep(random.uniform(0, limit) if state["wait"] is None else state["wait"])


if __name__ == "__main__":
    main()
