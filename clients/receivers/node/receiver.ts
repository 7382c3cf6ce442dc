/** A whole receiver: checks, forgets repeats, answers at once, works afterwards. WEBHOOK_SECRET=whsec_… node receiver.ts */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { isGenuine } from './verify.ts'

const LARGEST_BODY_BYTES = 1024 * 1024
const secret = process.env.WEBHOOK_SECRET ?? ''
/** What was taken already. Keep yours where it survives a restart, in the same transaction as the event itself. */
const taken = new Set<string>()

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status, status === 401 ? { Connection: 'close' } : {}).end(),
    // The connection broke before the body was whole.
    () => request.destroy(),
  )
})

async function receive(request: IncomingMessage): Promise<204 | 401> {
  const body = await rawBody(request)
  const header = (name: string): string => String(request.headers[name] ?? '')
  const id = header('webhook-id')
  const headers = { id, timestamp: header('webhook-timestamp'), signature: header('webhook-signature') }
  if (body === null || !isGenuine(secret, headers, body)) return 401
  const parsed = JSON.parse(body.toString())
  for (const event of [parsed].flat()) {
    // Of an array (`maxBatch`) each event by itself: they may come again in other arrays.
    const key = Array.isArray(parsed) ? hashOf(event) : id
    if (!taken.has(key)) setImmediate(work, event)
    taken.add(key)
  }
  return 204
}

function hashOf(event: { id: string; data: unknown }): string {
  return createHash('sha256')
    .update(JSON.stringify([event.id, event.data]))
    .digest('hex')
}

/** The bytes as they came; null where there are too many. */
async function rawBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > LARGEST_BODY_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function work(event: { type: string; sequence: string; subject: string; data: { headline?: string } }): void {
  process.stdout.write(`${event.sequence} ${event.type} ${event.subject} ${event.data.headline ?? ''}\n`)
}

// Ends the start where the secret is none.
isGenuine(secret, { id: '', timestamp: '', signature: '' }, Buffer.alloc(0))
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => {
  process.stderr.write(`listening on ${JSON.stringify(server.address())}\n`)
})
