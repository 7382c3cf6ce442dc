/**
 * Makes a root directory that holds a shell, the libraries of a few programs and nothing else, and runs commands in it. Its
 * network is one of its own: a loopback interface and no way out.
 */
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CommandProcess, followProcess } from '../bridge-process.ts'

/** Brings the loopback up, then becomes the command. */
const ENTER = 'ip link set lo up && exec chroot "$0" "$@"'

/** Copies programs of this machine into the root, and the libraries that they and `others` are linked against. */
export function furnishRoot(root: string, programs: readonly string[], others: readonly string[] = []): void {
  for (const program of programs) copyInto(root, program)
  const { stdout } = spawnSync('ldd', [...programs, ...others], { encoding: 'utf8' })
  for (const [library] of stdout.matchAll(/\/\S+\.so[.\d]*(?= \()/g)) copyInto(root, library)
  mkdirSync(join(root, 'tmp'), { mode: 0o1777, recursive: true })
}

function copyInto(root: string, path: string): void {
  if (existsSync(join(root, path))) return
  mkdirSync(join(root, dirname(path)), { recursive: true })
  copyFileSync(path, join(root, path))
}

/** Whether this machine lets a test have a root with a network of its own. */
export function canHaveEmptyRoot(): boolean {
  return (
    spawnSync('unshare', ['--user', '--map-root-user', '--net', 'ip', 'link', 'set', 'lo', 'up']).status === 0
  )
}

/**
 * Starts a command in that root, without an environment. `user`: a user of that root, for root on this machine only;
 * without it no rights on this machine are needed.
 */
export function startInRoot(root: string, command: readonly string[], user?: string): CommandProcess {
  const namespaces = user === undefined ? ['--user', '--map-root-user', '--net'] : ['--net']
  const chroot = user === undefined ? [root] : [`--userspec=${user}`, root]
  return startWithoutEnvironment('unshare', [...namespaces, 'sh', '-c', ENTER, ...chroot, ...command])
}

/** Starts a line for the shell beside a command that `startInRoot` started without a user: same root, same network. */
export function startBeside(other: CommandProcess, root: string, line: string): CommandProcess {
  const target = ['--target', `${other.child.pid}`, '--user', '--net', '--preserve-credentials']
  return startWithoutEnvironment('nsenter', [...target, 'chroot', root, '/bin/sh', '-c', `exec ${line}`])
}

/** How a container runs on a root: its user, its directory, its environment, and the one place that it may write to. */
export interface ContainerRules {
  /** By numbers, `user:group`. */
  readonly User: string
  readonly WorkingDir: string
  readonly env: Record<string, string>
  readonly writable: string
}

/** Makes the root read-only and the one place writable, then becomes the command. */
const ENTER_READ_ONLY = [
  'ip link set lo up',
  'mount --bind "$0" "$0"',
  'mount -o remount,bind,ro "$0"',
  'mount -t tmpfs -o "mode=700,uid=$1,gid=$2" data "$0/$3"',
  'shift 3',
  'exec chroot "$@"',
].join(' && ')

/** Starts commands on that root as a container engine does; root on this machine only. */
export function startOnReadOnlyRoot(
  root: string,
  { User, WorkingDir, env, writable }: ContainerRules,
): {
  start(command: readonly string[]): CommandProcess
  /** Beside the one that was started: same root, same network. */
  beside(other: CommandProcess, command: readonly string[]): CommandProcess
} {
  const inside = [`--userspec=${User}`, root, '/bin/sh', '-c', 'cd "$0" && exec "$@"', WorkingDir]
  const run = (file: string, args: readonly string[]): CommandProcess =>
    followProcess(
      spawn(file, args, {
        env: { ...env, PATH: `${env.PATH}:${process.env.PATH}` },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    )
  return {
    start: (command) => {
      const places = [root, ...User.split(':'), writable]
      return run('unshare', [
        '--mount',
        '--net',
        'sh',
        '-c',
        ENTER_READ_ONLY,
        ...places,
        ...inside,
        ...command,
      ])
    },
    beside: ({ child }, command) =>
      run('nsenter', ['--target', `${child.pid}`, '--mount', '--net', 'chroot', ...inside, ...command]),
  }
}

function startWithoutEnvironment(file: string, args: readonly string[]): CommandProcess {
  const child = spawn(file, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  return followProcess(child)
}
