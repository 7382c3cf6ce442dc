/**
 * Texts that are longer than a record: cut into parts, and put together again from parts that come one by one. Owns the
 * marks that a part carries. Refuses to send.
 */
import type { KafkaRecord } from './record-batch.ts'
import { headerOf, type NewRecord } from './records.ts'

/** Characters of a part: three bytes each at most, so that a part is no larger than a batch (512 KiB). */
const PART = 160 * 1024

/** The records of a text, under a key; `text` tells it from other texts under the same key. */
export function textRecords(key: string, text: string, textId: string): NewRecord[] {
  const parts: string[] = []
  for (let from = 0; from < text.length || parts.length === 0; ) {
    const to = from + PART
    // A pair of surrogates is one character of four bytes, and half of it none at all.
    const isPair = to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))
    parts.push(text.slice(from, isPair ? to - 1 : to))
    from = isPair ? to - 1 : to
  }
  return parts.map((value, index) => ({
    partition: 0,
    key,
    value,
    headers: { text: textId, part: String(index), parts: String(parts.length) },
  }))
}

/** Puts texts under one key together. */
export interface TextAssembly {
  /** The text that the record completes; null while parts of it are missing. */
  take(record: KafkaRecord): string | null
}

/** An assembly without any part. The parts of a text come in their order, those of several texts mixed. */
export function createTextAssembly(): TextAssembly {
  const texts = new Map<string, string[]>()
  return {
    take(record) {
      const id = headerOf(record, 'text') ?? ''
      const parts = texts.get(id) ?? []
      texts.set(id, parts)
      if (Number(headerOf(record, 'part')) !== parts.length) return null
      parts.push(record.value?.toString('utf8') ?? '')
      return parts.length === Number(headerOf(record, 'parts')) ? parts.join('') : null
    },
  }
}
