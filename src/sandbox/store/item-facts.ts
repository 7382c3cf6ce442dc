/**
 * What the sandbox's list asks of an item besides what every list of the API asks (`core/filter/selection.ts`): its time and its
 * channels. Owns which item is distributed on which channel. Refuses to hold item text.
 */
import { crc32 } from 'node:zlib'
import type { Disclosure } from '../../core/disclosure.ts'
import { disclosureFacts, type Facts, GAP_FACTS } from '../../core/filter/facts.ts'
import {
  channels,
  isInRange,
  type PublishersUnder,
  type Selection,
  selects,
} from '../../core/filter/selection.ts'

/** The few facts kept per item. */
export interface ShelfFacts {
  facts: Facts
  /** Bit n set = distributed on channel n of `channels`. Ours: upstream does not say which items have which. */
  channelBits: number
}

/** Facts of a readable item. */
export function shelfFacts(disclosure: Disclosure, nativeKind: string): ShelfFacts {
  return {
    facts: disclosureFacts(disclosure, 'published', nativeKind),
    channelBits: crc32(disclosure.guid) % 2 ** channels.length,
  }
}

/** Facts of an item that cannot be read: only an unfiltered list shows it. */
export const UNREADABLE_FACTS: ShelfFacts = Object.freeze({ facts: GAP_FACTS, channelBits: 0 })

/** The test of a selection. */
export function shelfTest(
  selection: Selection,
  publishersUnder: PublishersUnder,
): (timeMs: number, facts: ShelfFacts) => boolean {
  const isSelected = selects(selection, publishersUnder)
  const channelBit = selection.channel === null ? 0 : 2 ** channels.indexOf(selection.channel)
  return (timeMs, { facts, channelBits }) =>
    isInRange(selection, timeMs) &&
    (channelBits & channelBit) === channelBit &&
    (isSelected === null || isSelected(facts))
}
