/** Keeps the open streams of this node in the order of their opening, each under an id by which it is listed and ended. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Caller } from '../../http/auth.ts'
import type { Session } from './session.ts'
import type { StreamAccount } from './stream-account.ts'

/** An open stream of either transport. */
export interface OpenStream {
  /** Owned by `OpenStreams`: its place in the order of opening. */
  number: number
  readonly account: Pick<StreamAccount, 'transport' | 'remote' | 'openedMs' | 'slowSinceMs' | 'sent'>
  /** null until its client has authenticated. */
  readonly caller: Caller | null
  /** What it reads, each under the id that its client gave; null where it gave none. */
  sessions(): Iterable<readonly [id: string | null, session: Session]>
  /** Asks the client to reconnect, and ends the stream. */
  onNodeStops(): void
  /** Ends the stream because somebody asked for it. */
  onDeleted(): void
}

const PREFIX = 'str_'
const CIPHER = 'aes-128-ecb'
/** One block of the cipher, which ends with the number. The rest is zero: what another process has encrypted is not. */
const BLOCK_BYTES = 16
/** Enough for 281 trillion streams. */
const NUMBER_BYTES = 6
const NUMBER_AT = BLOCK_BYTES - NUMBER_BYTES
const REST = Buffer.alloc(NUMBER_AT)

/** The open streams of a node. Ids are computed when they are asked for: thousands of streams are idle. */
export class OpenStreams {
  /** Encrypts numbers: in clear they would tell a tenant how many streams all tenants open. */
  readonly #key = randomBytes(BLOCK_BYTES)
  readonly #byNumber = new Map<number, OpenStream>()
  #opened = 0

  /** Adds a stream, as the last one. */
  add(stream: OpenStream): void {
    this.#opened += 1
    stream.number = this.#opened
    this.#byNumber.set(stream.number, stream)
  }

  /** Removes a stream that is over. Callable twice. */
  delete({ number }: OpenStream): void {
    this.#byNumber.delete(number)
  }

  /** All of them, in the order of their opening. */
  all(): Iterable<OpenStream> {
    return this.#byNumber.values()
  }

  /** `str_`, then the encrypted number in hexadecimal digits. */
  idOf({ number }: OpenStream): string {
    const block = Buffer.alloc(BLOCK_BYTES)
    block.writeUIntBE(number, NUMBER_AT, NUMBER_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, null).setAutoPadding(false)
    return `${PREFIX}${cipher.update(block).toString('hex')}`
  }

  /** The number in an id; 0 in that of another process, which has no streams here; null where the text is no id. */
  numberIn(id: string): number | null {
    const [, digits] = /^str_([0-9a-f]{32})$/.exec(id) ?? []
    if (digits === undefined) return null
    const cipher = createDecipheriv(CIPHER, this.#key, null).setAutoPadding(false)
    const block = cipher.update(Buffer.from(digits, 'hex'))
    return block.subarray(0, NUMBER_AT).equals(REST) ? block.readUIntBE(NUMBER_AT, NUMBER_BYTES) : 0
  }

  /** The open stream of that id; null where there is none. */
  find(id: string): OpenStream | null {
    return this.#byNumber.get(this.numberIn(id) ?? 0) ?? null
  }
}
