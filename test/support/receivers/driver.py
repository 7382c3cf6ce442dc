"""Asks verify.py about each line of the standard input; see cases.ts for the form of a line."""

import base64
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from verify import is_genuine  # noqa: E402

for line in sys.stdin:
    fields = [base64.b64decode(field[1:]) for field in line.split()]
    secret, webhook_id, timestamp, signature, now = (field.decode() for field in fields[:5])
    try:
        genuine = is_genuine(secret, webhook_id, timestamp, signature, fields[5], int(now))
        print("genuine" if genuine else "refused")
    except ValueError:
        print("no secret")
