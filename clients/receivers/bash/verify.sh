#!/usr/bin/env bash
# Is this webhook from the bridge? Standard Webhooks, scheme v1, with bash and openssl: for looking at one by hand.
#   WEBHOOK_SECRET=whsec_… ./verify.sh ID TIMESTAMP SIGNATURE < body
# Says "genuine" and ends with 0, or "refused" and ends with 1; with 2 where the secret is none. The secret stays out of
# every command line, where other users of the machine could read it: the HMAC is made of two plain hashes.

# The key's bytes, each xored with $1, filled up to the block of SHA-256.
padded() {
  local at byte block=
  for ((at = 0; at < 64; at++)); do
    printf -v byte '\\x%02x' $((${key[at]:-0} ^ $1))
    block+=$byte
  done
  printf '%b' "$block"
}

# Looks at every character, whether or not one differs.
same() {
  local at differs=0
  [[ ${#1} == "${#2}" ]] || return 1
  for ((at = 0; at < ${#1}; at++)); do
    [[ ${1:at:1} == "${2:at:1}" ]] || differs=1
  done
  return $differs
}

# genuine ID TIMESTAMP SIGNATURE NOW < body
genuine() {
  local LC_ALL=C key id=$1 timestamp=$2 signature=$3 now=$4 age expected given found=1
  read -ra key < <(printf '%s' "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tu1 | tr '\n' ' ')
  if ((${#key[@]} < 24 || ${#key[@]} > 64)); then
    echo 'the webhook secret is missing or cut' >&2
    return 2
  fi
  [[ -n $id && $timestamp =~ ^[0-9]{1,12}$ ]] || return 1
  age=$((now - 10#$timestamp))
  ((age <= 300 && age >= -300)) || return 1
  expected=v1,$({ padded 0x36; printf '%s.%s.' "$id" "$timestamp"; cat; } | openssl dgst -sha256 -binary |
    { padded 0x5c; cat; } | openssl dgst -sha256 -binary | openssl base64 -A)
  # One for each secret: two while a secret is being replaced.
  read -ra signatures <<<"$signature"
  for given in "${signatures[@]}"; do
    if same "$given" "$expected"; then found=0; fi
  done
  return $found
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  genuine "${1:-}" "${2:-}" "${3:-}" "$(date +%s)"
  verdict=$?
  if ((verdict == 0)); then echo genuine; else echo refused; fi
  exit $verdict
fi
