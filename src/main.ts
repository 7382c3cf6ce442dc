#!/usr/bin/env node
/**
 * The program: argv and environment in, exit code out. Owns nothing else; the compile cache makes every start after
 * the first a quick one.
 */
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { main } = await import('./cli/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
