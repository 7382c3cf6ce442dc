/** Sends one request to a test server, as a client of the HTTP API would. */
import { type ApiServer, TOKEN } from './api-server.ts'

/** The response; `body` is null if there is none. */
export interface Asked {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever they expect
  body: any
  headers: Headers
}

/** Sends a request with that token; a body is sent as JSON, a text unchanged. */
export async function ask(
  api: ApiServer,
  token: string,
  path: string,
  method = 'GET',
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const type = body === undefined ? undefined : { 'content-type': 'application/json' }
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...type, ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: text === '' ? null : JSON.parse(text),
    headers: response.headers,
  }
}

/** The text of a new token with these scopes of that tenant. */
export async function tokenOf(
  api: ApiServer,
  tenant: string,
  scopes: readonly string[] = ['webhooks:read', 'webhooks:write'],
): Promise<string> {
  const { body } = await ask(api, TOKEN, '/v1/tokens', 'POST', { tenant, scopes })
  return body.token
}
