#!/usr/bin/env node
/**
 * Starts the command line with the process's arguments and environment. Every file that it makes is for this user alone.
 */
// It asks a running bridge to log more, and would end one that is still loading.
process.on('SIGUSR2', () => {})
process.umask(0o077)
const { main } = await import('./cli/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
