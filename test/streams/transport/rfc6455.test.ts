import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { openRaw, type RawStream } from '../../support/streams/raw-stream.ts'
import { closing } from './vectors/closing.ts'
import { control } from './vectors/control.ts'
import { fragmentation } from './vectors/fragmentation.ts'
import { framing } from './vectors/framing.ts'
import { reserved } from './vectors/reserved.ts'
import { utf8 } from './vectors/utf8.ts'
import { command, type Reply, textFrame, type Vector } from './vectors/vector.ts'

const sections = [...framing, ...control, ...reserved, ...fragmentation, ...utf8, ...closing]
const PROBE = 'are you still there'
let api: ApiServer

beforeAll(async () => {
  api = await startApi()
})

afterAll(async () => {
  // No internal error was logged, and no connection is left.
  expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  await api[Symbol.asyncDispose]()
})

/** The messages that a client got after `authenticated` and `hello`. */
function heard({ texts, pongs }: RawStream): Pick<Vector, 'replies' | 'pongs'> {
  const replies = texts.slice(2).map((text): Reply => {
    const { type, id = null, code } = JSON.parse(text) as { type: string; id?: string; code: number }
    return type === 'pong' ? { pong: id } : { error: code }
  })
  return { replies, pongs }
}

describe.each(sections)('$title:', ({ vectors }) => {
  test.concurrent.each(vectors)('$name', async ({ before, send, chop, replies = [], pongs = [], closes }) => {
    const client = await openRaw(api)
    await until(() => client.texts.length === 2)
    if (before !== undefined) {
      client.send(...before)
      await until(() => client.texts.length === 2 + replies.length)
    }
    const bytes = Buffer.concat(send)
    await client.sendChopped(bytes, chop ?? bytes.length)
    if (closes !== undefined) {
      expect(await client.ended).toBe(closes)
      expect(heard(client)).toEqual({ replies, pongs })
      return
    }
    client.send(textFrame(command(PROBE)))
    await until(() => client.texts.length === 3 + replies.length || client.closeCode() !== null)
    client.destroy()
    expect(client.closeCode()).toBeNull()
    expect(heard(client)).toEqual({ replies: [...replies, { pong: PROBE }], pongs })
  })
})

test('there are more than two hundred vectors, and no two are alike', () => {
  const names = sections.flatMap(({ title, vectors }) => vectors.map(({ name }) => `${title}: ${name}`))
  expect(names.length).toBeGreaterThanOrEqual(200)
  expect(new Set(names).size).toBe(names.length)
})
