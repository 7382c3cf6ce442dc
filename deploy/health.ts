/**
 * The container's health check, for images without curl: 0 while `/healthz` of this container's bridge answers 200.
 * Owns that one question. Refuses to look at readiness: an outage of the upstream or of Kafka is no reason to restart.
 */
const TIMEOUT_MS = 4_000

const port = process.env.BRIDGE_OPS_PORT || '9464'

try {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  process.stderr.write(`no answer on port ${port}: ${String(error)}\n`)
  process.exitCode = 1
}

export {}
