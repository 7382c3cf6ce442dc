#!/bin/sh
# Starts bridge on the Node beside it, wherever this folder lies. It uses readlink only where it was called by a link.
# The name it was called by goes along, so that the commands it prints can be copied.
export DISCLOSURE_BRIDGE_COMMAND="$0"
self=$0
[ ! -h "$self" ] || self=$(readlink -f "$self")
here=${self%/*}
# glibc then gives back what a burst took (docs/gotchas.md).
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-1}" MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_-32768}"
# The demo shares somebody's own machine: so it takes less memory.
if [ "${1-}" = demo ]; then
  exec "$here/node" --optimize-for-size "$here/../src/main.ts" "$@"
fi
exec "$here/node" "$here/../src/main.ts" "$@"
