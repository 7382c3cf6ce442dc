#!/bin/sh
# Starts bridge on the Node beside it, wherever this folder lies. It uses readlink only where it was called by a link.
# The name it was called by goes along, so that the commands it prints can be copied.
export DISCLOSURE_BRIDGE_COMMAND="$0"
self=$0
[ ! -h "$self" ] || self=$(readlink -f "$self")
here=${self%/*}
# The demo shares somebody's own machine: with one arena of glibc it takes less (docs/gotchas.md).
[ "${1-}" != demo ] || export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX-1}"
exec "$here/node" "$here/../src/main.ts" "$@"
