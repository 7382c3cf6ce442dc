#!/usr/bin/env bash
# Asks verify.sh about each line of the standard input: words in the shell's own quotes, see cases.ts. A refusal may come before the body is read.
# shellcheck source=/dev/null
source "$1/verify.sh"

while IFS= read -r line; do
  eval "words=($line)"
  WEBHOOK_SECRET=${words[0]}
  printf '%s' "${words[5]}" | openssl base64 -d -A 2>/dev/null | genuine "${words[@]:1:4}" 2>/dev/null
  case $? in
    0) echo genuine ;;
    1) echo refused ;;
    *) echo 'no secret' ;;
  esac
done
