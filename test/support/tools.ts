/**
 * Programs that some tests run and that a machine may lack. Owns what happens then: the tests are skipped, or fail
 * under `REQUIRE_TOOLS=1`, which `.ci/run` sets. Refuses to install anything.
 */
import { spawn, spawnSync } from 'node:child_process'

/**
 * Whether the program is on the path: `it.skipIf(!hasTool(…))`.
 * @throws Error with the Debian package to install when it is not and `REQUIRE_TOOLS=1`
 */
export function hasTool(name: string, debianPackage: string): boolean {
  const found = spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
  if (!found && process.env.REQUIRE_TOOLS === '1')
    throw new Error(`There is no ${name}: apt-get install ${debianPackage}. REQUIRE_TOOLS=1 asks for it.`)
  return found
}

/** Runs a program to its end; resolves with its exit code and all that it wrote. */
export async function runTool(
  name: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { cwd, signal } = options
  const child = spawn(name, args, {
    ...(cwd === undefined ? {} : { cwd }),
    ...(signal === undefined ? {} : { signal }),
    env: { PATH: process.env.PATH, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, stdout, stderr }
}
