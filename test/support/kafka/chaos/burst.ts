/** Publishes a burst of items for as long as a test needs; everything except the timing follows from the seed. */
import { setTimeout as wait } from 'node:timers/promises'
import { seededChance } from '../../../../src/core/chance.ts'
import { createIssuers } from '../../../../src/sandbox/market/issuers.ts'
import { itemJson } from '../../../../src/sandbox/market/item-json.ts'
import { templatesOf } from '../../../../src/sandbox/market/item-template.ts'
import type { Sandbox } from '../../../../src/sandbox/sandbox.ts'

/** Neither the market's own day nor the one before: its own items would amend items of the burst unseen. */
const DAY = '2026-01-06'
/** What one day's numbers give. */
const MOST_ITEMS = 9_000
const PAUSE_MS = 150
const MOST_AT_ONCE = 4
/** Above a page of the plan `advanced`. */
const OVERFLOW = 130
const OVERFLOW_SHARE = 0.005

/** A running burst. */
export interface Burst {
  /** Publishes that many items now. */
  add(count: number): void
  /** Stops publishing; resolves when it has stopped. */
  end(): Promise<void>
}

/** Starts a burst in that market. */
export function startBurst(sandbox: Sandbox, seed: number): Burst {
  const issuers = createIssuers(seed)
  const chance = seededChance(seed)
  const seconds = Array.from({ length: MOST_ITEMS }, () => 12 * 3_600)
  const drafts = templatesOf({ seed, issuers }, DAY, seconds)
  const context = { issuers, nativeKind: 'Native', documentsUrl: 'http://documents.test' }
  const add = (count: number): void => {
    const timestamp = new Date(sandbox.marketNow()).toISOString()
    const items = drafts.splice(0, count).map((template) => ({
      ...(JSON.parse(itemJson(template, context)) as object),
      timestamp,
    }))
    if (items.length < count) throw new Error(`the burst has no more than ${MOST_ITEMS} items`)
    sandbox.publish(items)
  }
  let ending = false
  const run = async (): Promise<void> => {
    while (!ending) {
      add(chance.yes(OVERFLOW_SHARE) ? OVERFLOW : chance.between(0, MOST_AT_ONCE))
      await wait(PAUSE_MS)
    }
  }
  const running = run()
  return {
    add,
    end() {
      ending = true
      return running
    },
  }
}
