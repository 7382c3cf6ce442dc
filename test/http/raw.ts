/** Sends HTTP as bytes on a socket, for requests that no well-behaved client would send. */
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** One raw response. */
export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** Sends the bytes, then reads until the server closes or the first response is complete. */
export function raw(port: number, ...pieces: (string | Buffer)[]): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let text = ''
    const finish = (): void => {
      const answer = parse(text)
      if (answer === null) return
      socket.destroy()
      resolve(answer)
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      finish()
    })
    socket.on('error', (error) => (parse(text) === null ? reject(error) : finish()))
    socket.on('close', () =>
      parse(text) === null ? reject(new Error(`no whole answer: ${text}`)) : finish(),
    )
    socket.on('connect', () => {
      for (const piece of pieces) socket.write(piece)
    })
  })
}

/** A client that sends these bytes at once and collects what comes, until the test ends. */
export function collectRaw(port: number, text: string): { socket: Socket; text: string; isOver: boolean } {
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  const client = { socket, text: '', isOver: false }
  socket.setEncoding('latin1').on('data', (more) => {
    client.text += more
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    client.isOver = true
  })
  onTestFinished(() => void socket.destroy())
  return client
}

function parse(text: string): RawAnswer | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const body = text.slice(end + 4)
  if (body.length < Number(headers['content-length'] ?? 0)) return null
  return { status: Number(first.split(' ')[1]), headers, body }
}
