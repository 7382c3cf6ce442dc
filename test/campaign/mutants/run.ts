/**
 * Breaks the source on purpose, one mutant at a time, and checks that the named test notices: `npm run campaign --
 * --mutants`. Each test must first pass on the source as it is. The source file is restored in every case.
 */
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../support/house/repository.ts'
import type { Mutant, NamedTest } from './mutant.ts'

/** A named test may take so long. A mutant that makes it hang is not killed: the test must fail by itself. */
const LONGEST_RUN_MS = 5 * 60_000

/**
 * What became of a mutant. `killed`: the named test failed. `survived`: it passed. `never_green`: it fails on the source as
 * it is, or is skipped. `no_verdict`: the test did not run to its end, for example because the mutant is no valid code.
 */
export type Verdict = 'killed' | 'survived' | 'never_green' | 'no_verdict'

/** One mutant's line of the result file. */
export interface MutantResult {
  mutant: string
  breaks: string
  killedBy: string
  verdict: Verdict
  /** What the test said as it failed, its first line: it must speak of the promise. null where it did not fail. */
  failure: string | null
  /** Duration of the run of the test with the mutant. */
  seconds: number
}

/** How many tests of that name passed and failed, both 0 where none ran to its end; and the first failure. */
interface Counts {
  passed: number
  failed: number
  failure: string | null
}

/** The part of vitest's JSON report that is read. */
interface Report {
  numPassedTests: number
  numFailedTests: number
  testResults: readonly { assertionResults: readonly { failureMessages: readonly string[] }[] }[]
}

const NONE: Counts = { passed: 0, failed: 0, failure: null }
/** Longest failure that is kept, in characters. */
const LONGEST_FAILURE = 200

/**
 * Tries these mutants one after the other.
 * @throws Error where the working tree has changes, which a run that is cut off could mix up with a mutant
 */
export async function runMutants(
  mutants: readonly Mutant[],
  notify: (result: MutantResult) => void,
): Promise<MutantResult[]> {
  requireCleanTree()
  const folder = mkdtempSync(join(tmpdir(), 'bridge-mutants-'))
  const results: MutantResult[] = []
  try {
    for (const mutant of mutants) {
      const result = await tryMutant(mutant, folder)
      results.push(result)
      notify(result)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return results
}

/** The pattern that vitest's `-t` takes for a title; placeholders of the title match anything. */
export function titlePattern(title: string): string {
  return title
    .split(/%[sdi]|\$\{[^}]*\}|\$\w+/)
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*')
}

function requireCleanTree(): void {
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' })
  if (changes !== '') throw new Error(`commit or remove these changes before mutants are tried:\n${changes}`)
}

async function tryMutant(mutant: Mutant, folder: string): Promise<MutantResult> {
  const { name, breaks, killedBy } = mutant
  const about = { mutant: name, breaks, killedBy: `${killedBy.file}: ${killedBy.title}` }
  const asItIs = await runTest(killedBy, folder)
  if (asItIs.failed > 0 || asItIs.passed === 0) {
    return { ...about, verdict: 'never_green', failure: asItIs.failure, seconds: 0 }
  }
  const restore = applyMutant(mutant, folder)
  const stopped = new AbortController()
  // The default action of these signals would end the process with the mutant in place.
  const stop = (): void => {
    restore()
    stopped.abort()
    process.exit(130)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const startedMs = performance.now()
  try {
    const { passed, failed, failure } = await runTest(killedBy, folder, stopped.signal)
    const seconds = Math.round((performance.now() - startedMs) / 100) / 10
    const verdict = failed > 0 ? 'killed' : passed > 0 ? 'survived' : 'no_verdict'
    return { ...about, verdict, failure, seconds }
  } finally {
    restore()
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
  }
}

/** Puts the mutant in place; returns what restores the file. */
function applyMutant({ file, before, after }: Mutant, folder: string): () => void {
  const path = join(root, file)
  const aside = join(folder, 'source')
  copyFileSync(path, aside)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(before, () => after),
  )
  return () => copyFileSync(aside, path)
}

/** Runs the tests of that title in a process of their own. */
async function runTest({ file, title }: NamedTest, folder: string, signal?: AbortSignal): Promise<Counts> {
  const output = join(folder, 'result.json')
  rmSync(output, { force: true })
  const child = spawn(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      ...['run', file, '-t', titlePattern(title), '--reporter=json', `--outputFile=${output}`],
    ],
    {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, REQUIRE_KAFKA: '1' },
      timeout: LONGEST_RUN_MS,
      ...(signal && { signal }),
    },
  )
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => resolve())
    child.once('error', reject)
  })
  return countsIn(output)
}

function countsIn(output: string): Counts {
  let text: string
  try {
    text = readFileSync(output, 'utf8')
  } catch {
    // vitest was ended before it could write its report.
    return NONE
  }
  const { numPassedTests: passed, numFailedTests: failed, testResults } = JSON.parse(text) as Report
  const [first] = testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap(({ failureMessages }) => failureMessages),
  )
  const failure = first?.split('\n', 1)[0]?.slice(0, LONGEST_FAILURE) ?? null
  return { passed, failed, failure }
}
