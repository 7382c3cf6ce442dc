/** Loads compose files as `docker compose` does, by its own library: a few lines of Go, which the first call on a machine builds. */
import { join, resolve } from 'node:path'
import { root } from '../house/repository.ts'
import { runTool } from '../tools.ts'

/** A service as compose resolves it. */
export interface ComposeService {
  image: string
  restart?: string
  read_only?: boolean
  privileged?: boolean
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  mem_limit?: string
  cpus?: number
  pids_limit?: number
  ulimits?: { nofile?: { soft: number; hard: number } }
  logging?: { driver: string; options?: Record<string, string> }
  healthcheck?: { test: string[] }
  environment?: Record<string, string>
  secrets?: { source: string; target: string }[]
  volumes?: { type: string; source: string; target: string; read_only?: boolean }[]
  ports?: { host_ip?: string; published: string; target: number }[]
  networks?: Record<string, unknown>
}

/** A project: all files merged, every variable filled in, every path absolute. */
export interface ComposeProject {
  services: Record<string, ComposeService>
  secrets?: Record<string, { file: string }>
  volumes?: Record<string, unknown>
}

/**
 * Merges these files, with the variables of a file. Paths are absolute, or those in the repository.
 * @throws Error with what the library says: a wrong field, a variable that is missing
 */
export async function loadCompose(envFile: string, files: readonly string[]): Promise<ComposeProject> {
  const { HOME = '', GOPROXY, GOFLAGS, GOTOOLCHAIN } = process.env
  const given = { HOME, GOPROXY, GOFLAGS, GOTOOLCHAIN }
  const env = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const folder = join(root, 'test/support/compose')
  const paths = [envFile, ...files].map((path) => resolve(root, path))
  const { code, stdout, stderr } = await runTool('go', ['run', '-C', folder, '.', ...paths], { env })
  if (code !== 0) throw new Error(`compose refuses ${files.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as ComposeProject
}
