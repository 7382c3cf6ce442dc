/** Follows the firing alerts of a Prometheus, and remembers when each installation's alerts fired first. */
import { setTimeout as wait } from 'node:timers/promises'
import type { PrometheusProcess } from './prometheus-process.ts'

/** Between two looks. */
const LOOK_MS = 1_000

export interface AlertWatch extends AsyncDisposable {
  /** Alerts of this installation that fire now. */
  firing(installation: string): readonly string[]
  /** When the alert was first seen firing, as `performance.now()` has it; null: not yet. */
  firstAt(installation: string, alert: string): number | null
  /** Resolves after the next look. Rejects when Prometheus cannot be asked. */
  nextLook(): Promise<void>
}

/** Looks each second until it is disposed of; `notify` gets a line for each alert that begins or ends. */
export function watchAlerts(prometheus: PrometheusProcess, notify: (line: string) => void): AlertWatch {
  const first = new Map<string, number>()
  let firing: ReadonlySet<string> = new Set()
  let isOver = false
  const look = async (): Promise<void> => {
    const samples = await prometheus.query('ALERTS{alertstate="firing"}')
    const now = new Set(samples.map(({ metric }) => `${metric.installation ?? ''}: ${metric.alertname}`))
    for (const key of now) {
      if (!first.has(key)) first.set(key, performance.now())
      if (!firing.has(key)) notify(`${key} fires`)
    }
    for (const key of firing) if (!now.has(key)) notify(`${key} ends`)
    firing = now
  }
  let next = look()
  const loop = (async () => {
    while (!isOver) {
      await next
      await wait(LOOK_MS)
      next = look()
    }
    await next
  })()
  // Whoever waits for the next look gets its error.
  loop.catch(() => {})
  return {
    firing: (installation) =>
      [...firing].flatMap((key) =>
        key.startsWith(`${installation}: `) ? [key.slice(installation.length + 2)] : [],
      ),
    firstAt: (installation, alert) => first.get(`${installation}: ${alert}`) ?? null,
    async nextLook() {
      await next
      await wait(LOOK_MS)
      await next
    },
    async [Symbol.asyncDispose]() {
      isOver = true
      await loop.catch(() => {})
    },
  }
}
