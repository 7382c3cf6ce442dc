#!/usr/bin/env node
/**
 * Starts the command line with the process's arguments and environment. Every file that it makes is for this user alone.
 * The compile cache speeds up every later start.
 */
import { enableCompileCache } from 'node:module'

process.umask(0o077)
enableCompileCache()
const { main } = await import('./cli/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
