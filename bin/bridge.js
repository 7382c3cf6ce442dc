#!/usr/bin/env node
// Starts the command line; on a Node that cannot run TypeScript it says which one can. Runs on every Node since 14.
if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import('../src/main.ts')
} else {
  process.stderr.write(
    `bridge: this is Node ${process.version}, and bridge needs Node 24, which npm ci has installed beside it\n` +
      '  Run npx --no-install bridge, or node_modules/.bin/node src/main.ts: both use that one.\n',
  )
  process.exitCode = 1
}
