/**
 * Generates the parts that all fund records share: issuer, instrument, and the announcement's guid and time
 * (docs/use/sandbox-funds.md).
 */
import { isoSeconds } from '../../core/dates.ts'
import { instrumentJson } from '../market/item-json.ts'
import type { ShareClass } from './share-classes.ts'

/** Made-up domain in these guids. It differs from that of listed items, because these guids refer to none of them. */
const GUID_DOMAIN = 'funds.sandbox.example'
/** Last character of the guid's number, by subject. */
const letters = { nav: 'N', buyback: 'B', dividend: 'D', performance: 'P' } as const

/** Creates a share class's announcement about one subject; a class announces each subject at most once a day. */
export function fundAnnouncementOf(shareClass: ShareClass, about: keyof typeof letters, atMs: number) {
  /** ISO 8601, whole seconds, UTC. */
  const timestamp = isoSeconds(atMs)
  const number = `${shareClass.index.toString().padStart(4, '0')}${letters[about]}`
  return {
    guid: `urn:newsml:${GUID_DOMAIN}:${timestamp.slice(0, 10).replaceAll('-', '')}:${number}:1`,
    timestamp,
  }
}

/** Returns the issuer with this instrument, in the form of the disclosure items. */
export function issuerJson(shareClass: ShareClass) {
  const { name, issuer } = shareClass
  const { lei } = issuer
  return { name, ...(lei === null ? {} : { lei }), instrument: instrumentJson(shareClass) }
}
