/**
 * The forms of the corpus of the address guard, and the rules its cases run under. Owns no case: the files beside it do.
 */

import type { UrlRefusal } from '../../../../src/webhooks/address/judge-url.ts'
import { type AddressRules, addressRules } from '../../../../src/webhooks/address/rules.ts'

const PORTS = [443, 8443]

/** The operators of the corpus. */
export const ruleSets = {
  /** Nothing is set. */
  plain: addressRules({ allowNets: [], allowHttp: false, ports: PORTS }),
  /** Plain http too. */
  http: addressRules({ allowNets: [], allowHttp: true, ports: PORTS }),
  /** A net of one's own, in both families. */
  desk: addressRules({ allowNets: ['10.20.0.0/16', 'fd00:20::/32'], allowHttp: false, ports: PORTS }),
  /** This machine, as in tests; plain http too. */
  local: addressRules({ allowNets: ['127.0.0.0/8', '::1/128'], allowHttp: true, ports: PORTS }),
  /** This machine by IPv4 alone, as the settings' docs and the demo have it. */
  local4: addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: PORTS }),
} satisfies Record<string, AddressRules>

/** The name of one of them. */
export type RuleSet = keyof typeof ruleSets

/** `ok nets`: taken, but only an address in the operator's nets may answer. */
export type UrlExpectation = 'ok' | 'ok nets' | UrlRefusal

/** Scheme, the rest behind its colon (apart, so that no page of the house names a real host), what is expected, why. */
export type UrlCase = readonly [
  scheme: string,
  rest: string,
  expected: UrlExpectation,
  why: string,
  rules?: RuleSet,
]

/** An address as a resolver or a socket gives it; what is expected, why. */
export type AddressCase = readonly [
  address: string,
  expected: 'public' | 'allowed' | 'refused',
  why: string,
  rules?: RuleSet,
]
