#!/usr/bin/env node
/**
 * Starts the command line with the process's arguments and environment. The compile cache speeds up every later start.
 */
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { main } = await import('./cli/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
