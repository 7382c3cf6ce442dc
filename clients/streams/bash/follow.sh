#!/usr/bin/env bash
# Follows a bridge over server-sent events with curl: one event a line on stdout, and on from there after a break or a kill.
#   STREAM_URL=http://127.0.0.1:8080 STREAM_TOKEN=… ./follow.sh CURSOR_FILE [PARAMETERS]
# PARAMETERS: a filter, and where the first start begins, as in an address; e.g. 'importance=high%2B&tail=20'.
file=${1:?a file for the cursor} parameters=${2:-} useless=0

# One connection; the cursor is written once the event behind it is out. Ends with curl's last words: its status.
follow() {
  local name='' data='' id='' line field value
  local headers=("Accept: text/event-stream" "Authorization: Bearer $STREAM_TOKEN")
  [ -s "$file" ] && headers+=("Last-Event-ID: $(<"$file")")
  while IFS= read -r line; do
    field=${line%%:*} value=${line#*:} value=${value# }
    case $field in
    event) name=$value ;;
    data) data+=$value ;;
    id) id=$value ;;
    status) status=$value ;;
    '')
      [ -n "$line" ] && continue # a comment: the bridge lives
      case $name in
      disclosure | gap) printf '%s\n' "$data" || exit 0 ;;
      going_away) going_away=${data//[!0-9]/} ;;
      esac
      if [ -n "$id" ]; then
        printf '%s' "$id" >"$file.new" && mv "$file.new" "$file"
        useless=0
      fi
      name='' data='' id=''
      ;;
    *) body=$line ;;
    esac
    # The headers come from a pipe: a token on a command line could be read by others. Less than a byte a second for
    # 45 s is silence: the bridge says something every 15.
  done < <(curl -N --connect-timeout 10 --speed-limit 1 --speed-time 45 -w '\nstatus: %{http_code}\n' \
    -H @<(printf '%s\n' "${headers[@]}") "$url" 2>/dev/null)
}

case $parameters in *after=* | *since=* | *tail=*) start=$parameters ;; *) start="tail=1000&$parameters" ;; esac
filter=$(sed -E 's/(^|&)(after|since|tail)=[^&]*//g' <<<"$parameters")
while :; do
  # A beginning is for the first start only: the cursor is the better one.
  if [ -s "$file" ]; then query=$filter; else query=$start; fi
  url="${STREAM_URL:-http://127.0.0.1:8080}/v1/events?${query#&}" status=000 body='' going_away=''
  follow
  case $status in 4[0-9][0-9]) [ "$status" = 429 ] || { printf '%s %s\n' "$status" "$body" >&2; exit 1; } ;; esac
  limit=$((useless < 6 ? 500 << useless : 30000)) useless=$((useless + 1))
  ms=${going_away:-$((RANDOM * limit / 32768))}
  printf 'the stream ended (status %s); again in %d ms\n' "$status" "$ms" >&2
  sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
done
