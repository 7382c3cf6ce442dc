/**
 * Starts the whole product in the test's own process over a sandbox: every role, real sockets and an embedded log. Tests
 * can measure its memory and its open files.
 */
import { type App, startApp } from '../../../src/app/app.ts'
import { systemChance, systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { settingNames } from '../../../src/settings/schema.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { bridgeEnv, temporaryDirectory } from '../bridge-process.ts'
import { operationsOf } from '../house/openapi-rules.ts'
import { type Operation, openApiShape } from '../house/openapi-shape.ts'
import { until } from '../http/api-server.ts'

/** One method on one path, as the running product documents it. */
export interface DocumentedOperation {
  /** `GET /v1/status`: with variable parts in braces. */
  name: string
  method: string
  path: string
  operation: Operation
}

/** A running product that holds some events. */
export interface Product extends AsyncDisposable {
  app: App
  /** Address of the public listener. */
  url: string
  port: number
  sandbox: Sandbox
  /** Every operation of `/openapi.json`. */
  operations: readonly DocumentedOperation[]
}

/** Events that it holds before it is handed out. */
const FEWEST_EVENTS = 20

/** Starts it. Rates of requests are off unless `settings` names them: tests send more than any client should. */
export async function startProduct(settings: Record<string, string> = {}): Promise<Product> {
  const directory = temporaryDirectory()
  const sandbox = await startSandbox({ scenario: 'demo', weeklyQuota: 1_000_000 }, { clock: systemClock })
  const rates = settingNames.filter((name) => name.startsWith('BRIDGE_HTTP_RATE_')).map((name) => [name, '0'])
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_BACKFILL: 'PT1H',
    BRIDGE_LOG_LEVEL: 'silent',
    ...Object.fromEntries(rates),
    ...settings,
  })
  const app = await startApp(loadSettings(env, noFile), { clock: systemClock, chance: systemChance })
  const stopping = new AbortController()
  const running = app.runUntil(stopping.signal)
  await until(async () => app.reader.latest > FEWEST_EVENTS && (await fetch(`${app.ready.ops}/readyz`)).ok)
  const url = app.ready.http
  const document = openApiShape.parse(await (await fetch(`${url}/openapi.json`)).json())
  const operations = operationsOf(document).map(({ method, path, operation }) => {
    const upper = method.toUpperCase()
    return { name: `${upper} ${path}`, method: upper, path, operation }
  })
  return {
    app,
    url,
    port: Number(new URL(url).port),
    sandbox,
    operations,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await running
      await sandbox.close()
      directory[Symbol.dispose]()
    },
  }
}

/** No file is there: settings come from the environment alone. */
function noFile(path: string): never {
  throw Object.assign(new Error(path), { code: 'ENOENT' })
}
