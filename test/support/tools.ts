/**
 * Finds programs that some tests and benches run and that a machine may lack. Without them those are skipped, or fail
 * under `REQUIRE_TOOLS=1`, which `.ci/run` sets. It installs nothing.
 */
import { spawn, spawnSync } from 'node:child_process'
import { endWithTests } from './children.ts'

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

/**
 * Runs a program to its end; resolves with its exit code (null where the signal ended it) and all that it wrote.
 * `onLine` gets each line of its output as it comes.
 */
export async function runTool(
  name: string,
  args: readonly string[],
  options: {
    env?: Record<string, string>
    cwd?: string
    signal?: AbortSignal
    onLine?: (line: string) => void
  } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(name, args, {
    env: { PATH: process.env.PATH, ...options.env },
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  options.signal?.addEventListener('abort', () => void child.kill('SIGKILL'))
  endWithTests(child)
  let stdout = ''
  let lastLine = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    const lines = (lastLine + chunk.toString()).split('\n')
    lastLine = lines.pop() ?? ''
    for (const line of lines) options.onLine?.(line)
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

/**
 * Compiles sources of Java into that folder, against these jars; javac is to be there.
 * @throws Error with what javac wrote, warnings among it
 */
export async function compileJava(
  sources: readonly string[],
  classes: string,
  jars: readonly string[] = [],
): Promise<void> {
  const path = jars.length === 0 ? [] : ['-cp', jars.join(':')]
  // Jars name others in their manifests that are not there.
  const lint = ['-Xlint:all,-path', '-Werror', '-proc:none']
  const args = ['-encoding', 'UTF-8', ...lint, ...path, '-d', classes, ...sources]
  const { code, stderr } = await runTool('javac', args)
  if (code !== 0 || stderr !== '') throw new Error(`javac ended with ${code}: ${stderr}`)
}
