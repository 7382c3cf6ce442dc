#!/usr/bin/env node
// Starts the command line; on a Node that cannot run TypeScript it says which one can. Runs on every Node since 14.
// Where the compile cache has the sources, every start is quicker, and Node does not load what strips their types, which takes
// 16 MB of memory. Who can write to the cache decides what runs: it lies beside the packages, and nowhere else.
if (Number(process.versions.node.split('.')[0]) >= 24) {
  process.umask(0o077)
  const { enableCompileCache } = await import('node:module')
  const { fileURLToPath } = await import('node:url')
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/bridge', import.meta.url)))
  await import('../src/main.ts')
} else {
  process.stderr.write(
    `bridge: this is Node ${process.version}, and bridge needs Node 24, which npm ci has installed beside it\n` +
      '  Run npx --no-install bridge, or node_modules/.bin/node src/main.ts: both use that one.\n',
  )
  process.exitCode = 1
}
