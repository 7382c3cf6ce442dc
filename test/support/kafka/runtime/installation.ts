/**
 * Fetches Kafka's jars once with Maven into a cache outside the checkout, under a lock, and creates the class-data
 * archive.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { lockFile } from '../../../../src/storage/database.ts'
import { startCluster } from '../cluster.ts'
import { javaRuntime } from './java-runtime.ts'
import type { KafkaRuntime } from './runtime.ts'
import type { KafkaVersion } from './versions.ts'

type Environment = Readonly<Record<string, string | undefined>>

const MIN_JAVA = 17
const LOCK_RETRY_MS = 200
/** Written last: a folder without it is half made. */
const DONE = 'complete'
const ARCHIVE = 'classes.jsa'
const CHECKPOINT = 'bootstrap.checkpoint'

/** A usable Java, or the sentence that says what is missing. */
export type FoundJava = { java: string; javaVersion: string } | { missing: string }

/** Looks for a Java of at least 17: that of `JAVA_HOME`, else of the path. */
export async function findJava(env: Environment): Promise<FoundJava> {
  const java = env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java'
  const printed = await promisify(execFile)(java, ['-version']).catch((error: Error) => error)
  if (printed instanceof Error) return { missing: `${java} does not run` }
  const [, javaVersion = '0'] = /version "([^"]+)"/.exec(printed.stderr) ?? []
  if (Number.parseInt(javaVersion, 10) < MIN_JAVA) return { missing: `${java} is version ${javaVersion}` }
  return { java, javaVersion }
}

/**
 * The release ready to start on that Java; the first call on a machine fetches it, which takes half a minute or so.
 * Several processes may call at once: one works, the others wait.
 * @throws Error when Maven is missing or fails, with what to do
 */
export async function installedKafka(
  version: KafkaVersion,
  { java, javaVersion }: { java: string; javaVersion: string },
  env: Environment,
): Promise<KafkaRuntime> {
  const folder = join(cacheFolder(env), `kafka-${version.number}-java-${javaVersion}`)
  const found = { version, java, javaVersion }
  await once(folder, () => install(folder, found))
  return javaRuntime({
    ...found,
    jars: jarsIn(folder),
    archive: { file: join(folder, ARCHIVE), use: 'read' },
    checkpointFile: join(folder, CHECKPOINT),
  })
}

/**
 * MirrorMaker of that release on that Java, which is fetched by the first call on a machine. It has the classes of brokers too.
 * @throws Error when Maven is missing or fails, with what to do
 */
export async function installedMirrorMaker(
  version: KafkaVersion,
  { java, javaVersion }: { java: string; javaVersion: string },
  env: Environment,
): Promise<KafkaRuntime> {
  const folder = join(cacheFolder(env), `mirror-maker-${version.number}`)
  await once(folder, () => fetchJars(folder, version, version.mirrorMaker))
  return javaRuntime({
    version,
    java,
    javaVersion,
    jars: jarsIn(folder),
    archive: null,
    checkpointFile: null,
  })
}

/** Runs `install` unless the folder is complete. One process at a time does. */
async function once(folder: string, install: () => Promise<void>): Promise<void> {
  if (existsSync(join(folder, DONE))) return
  mkdirSync(folder, { recursive: true })
  const release = await locked(join(folder, 'lock.db'))
  try {
    if (existsSync(join(folder, DONE))) return
    await install()
    writeFileSync(join(folder, DONE), '')
  } finally {
    release()
  }
}

interface Found {
  version: KafkaVersion
  java: string
  javaVersion: string
}

async function install(folder: string, found: Found): Promise<void> {
  await fetchJars(folder, found.version, found.version.coordinates)
  const archive = join(folder, ARCHIVE)
  rmSync(archive, { force: true })
  const runtime = javaRuntime({
    ...found,
    jars: jarsIn(folder),
    archive: { file: archive, use: 'write' },
    checkpointFile: null,
  })
  // The archive holds what a broker loads up to a Metadata answer; what the storage tool wrote is kept as well.
  await using cluster = await startCluster({ runtime })
  for (const node of cluster.nodes) {
    await node.signal('SIGTERM')
    await node.ended()
    copyFileSync(join(node.logFolder, CHECKPOINT), join(folder, CHECKPOINT))
  }
  if (!existsSync(archive))
    throw new Error(`${runtime.description} wrote no class-data archive to ${archive}`)
}

async function fetchJars(
  folder: string,
  version: KafkaVersion,
  coordinates: readonly string[],
): Promise<void> {
  const fetched = join(folder, 'fetched')
  rmSync(fetched, { recursive: true, force: true })
  mkdirSync(fetched)
  writeFileSync(join(fetched, 'pom.xml'), pomOf(coordinates))
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', '-DoutputDirectory=libs']
  await promisify(execFile)('mvn', ['-q', '-B', '-f', join(fetched, 'pom.xml'), ...goal]).catch((error) => {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new Error(
      missing
        ? 'Maven is missing: install it (Debian: apt-get install maven), or set KAFKA_BROKERS.'
        : `Maven could not fetch Kafka ${version.number}: ${(error as { stdout?: string }).stdout || error}`,
      { cause: error },
    )
  })
  rmSync(libsOf(folder), { recursive: true, force: true })
  renameSync(join(fetched, 'libs'), libsOf(folder))
  rmSync(fetched, { recursive: true })
}

function pomOf(coordinates: readonly string[]): string {
  const dependencies = coordinates.map((one) => {
    const [group, artifact, number] = one.split(':')
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${number}</version></dependency>`
  })
  return [
    '<project><modelVersion>4.0.0</modelVersion>',
    '<groupId>test</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>',
    `<dependencies>${dependencies.join('')}</dependencies></project>`,
  ].join('')
}

function libsOf(folder: string): string {
  return join(folder, 'libs')
}

function jarsIn(folder: string): string[] {
  return readdirSync(libsOf(folder))
    .sort()
    .map((name) => join(libsOf(folder), name))
}

/** `KAFKA_CACHE`, else a folder in the user's own cache folder. */
function cacheFolder(env: Environment): string {
  const base = env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return env.KAFKA_CACHE || join(base, 'disclosure-bridge')
}

async function locked(path: string): Promise<() => void> {
  for (;;) {
    const release = lockFile(path)
    if (release !== null) return release
    await sleep(LOCK_RETRY_MS)
  }
}
