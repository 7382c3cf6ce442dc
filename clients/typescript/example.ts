/**
 * A whole reader: follows a bridge, prints each announcement, and goes on where it stopped, also after a kill.
 * STREAM_URL=http://127.0.0.1:8080 STREAM_TOKEN=… node example.ts CURSOR_FILE
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { connect } from './src/stream.ts'
import { StreamFailure } from './src/verdict.ts'

const { STREAM_URL = 'http://127.0.0.1:8080', STREAM_TOKEN = '' } = process.env
const cursorFile = process.argv[2] ?? 'cursor.txt'
const kept = existsSync(cursorFile) ? readFileSync(cursorFile, 'utf8') : null

/** Keeps the place whole: a half-written file is never read. */
function keep(cursor: string): void {
  writeFileSync(`${cursorFile}.new`, cursor)
  renameSync(`${cursorFile}.new`, cursorFile)
}

const stream = connect({
  url: STREAM_URL,
  token: STREAM_TOKEN,
  from: kept === null ? 'earliest' : { after: kept },
})
process.on('SIGINT', () => stream.close())
process.on('SIGTERM', () => stream.close())

try {
  for await (const message of stream) {
    switch (message.type) {
      case 'disclosure':
        process.stdout.write(`${message.event.time} ${message.event.id} ${message.event.data.headline}\n`)
        break
      case 'gap':
        process.stderr.write(
          `${message.event.type} from ${message.event.data.from} to ${message.event.data.to}\n`,
        )
        break
      case 'disconnected':
        process.stderr.write(`${message.why}; again in ${message.retryInMs} ms\n`)
        break
    }
    // This message is dealt with; the client counts it as such a little later, when the next one is asked for.
    if ('event' in message) keep(message.event.cursor)
    else if ('cursor' in message) keep(message.cursor)
  }
} catch (error) {
  if (!(error instanceof StreamFailure)) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exitCode = 1
}
