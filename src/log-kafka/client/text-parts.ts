/** Splits a text that is larger than a record into parts, and reassembles it from the parts. */
import type { KafkaRecord } from './partition-protocol.ts'
import { headerOf, type NewRecord } from './records.ts'

/** Characters of a part; at three bytes each, a part fits into one batch (512 KiB). */
const PART = 160 * 1024

/** The records of a text, all with that key; `textId` distinguishes texts with the same key. */
export function textRecords(key: string, text: string, textId: string): NewRecord[] {
  const parts: string[] = []
  for (let from = 0; from < text.length || parts.length === 0; ) {
    const to = from + PART
    // A surrogate pair must not be split.
    const isPair = to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))
    parts.push(text.slice(from, isPair ? to - 1 : to))
    from = isPair ? to - 1 : to
  }
  return parts.map((value, index) => ({
    partition: 0,
    key,
    value,
    headers: { text: textId, part: index.toString(), parts: parts.length.toString() },
  }))
}

/** Reassembles the texts of one key. The parts of a text arrive in order; parts of several texts may be mixed. */
export class TextAssembly {
  readonly #texts = new Map<string, string[]>()

  /** The text that the record completes; null while parts of it are missing. */
  take(record: KafkaRecord): string | null {
    const id = headerOf(record, 'text') ?? ''
    const parts = this.#texts.get(id) ?? []
    this.#texts.set(id, parts)
    if (Number(headerOf(record, 'part')) !== parts.length) return null
    parts.push(record.value?.toString('utf8') ?? '')
    return parts.length === Number(headerOf(record, 'parts')) ? parts.join('') : null
  }
}
