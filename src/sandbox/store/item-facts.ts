/**
 * Extracts the fields of an item that list filters use, and tests an item against a filter.
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

/** Fields kept per item for filtering. */
export interface ShelfFacts {
  facts: Facts
  /** Bit n set = distributed on channel n of `channels`. Derived from the guid; upstream documents no rule. */
  channelBits: number
}

/** Extracts the facts of a readable item. */
export function shelfFacts(disclosure: Disclosure, nativeKind: string): ShelfFacts {
  return {
    facts: disclosureFacts(disclosure, 'published', nativeKind),
    channelBits: crc32(disclosure.guid) % 2 ** channels.length,
  }
}

/** Facts of an unreadable item: only an unfiltered list includes it. */
export const UNREADABLE_FACTS: ShelfFacts = Object.freeze({ facts: GAP_FACTS, channelBits: 0 })

/** Creates the predicate of a selection. */
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
