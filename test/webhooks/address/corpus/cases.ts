/**
 * Defines the forms of the address guard's corpus, and the settings under which its cases run. The cases are in the
 * files beside it.
 */
import type { UrlRefusal } from '../../../../src/webhooks/address/judge-url.ts'
import { type AddressRules, addressRules } from '../../../../src/webhooks/address/rules.ts'

const PORTS = [443, 8443]

/** The operator settings of the corpus. */
export const ruleSets = {
  /** The defaults. */
  plain: addressRules({ allowNets: [], allowHttp: false, ports: PORTS }),
  /** Plain http is allowed. */
  http: addressRules({ allowNets: [], allowHttp: true, ports: PORTS }),
  /** A private net is allowed, in both families. */
  desk: addressRules({ allowNets: ['10.20.0.0/16', 'fd00:20::/32'], allowHttp: false, ports: PORTS }),
  /** This machine is allowed, as in tests; plain http too. */
  local: addressRules({ allowNets: ['127.0.0.0/8', '::1/128'], allowHttp: true, ports: PORTS }),
  /** This machine is allowed by IPv4 only, as in the settings' docs and the demo. */
  local4: addressRules({ allowNets: ['127.0.0.0/8'], allowHttp: true, ports: PORTS }),
} satisfies Record<string, AddressRules>

/** The name of an operator setting. */
export type RuleSet = keyof typeof ruleSets

/** `ok nets`: accepted, but only if the name resolves to an address in the operator's nets. */
export type UrlExpectation = 'ok' | 'ok nets' | UrlRefusal

/** Scheme, the rest after its colon (split, so that no file names a real host), expected verdict, reason. */
export type UrlCase = readonly [
  scheme: string,
  rest: string,
  expected: UrlExpectation,
  why: string,
  rules?: RuleSet,
]

/** An address as a resolver or a socket returns it; expected verdict, reason. */
export type AddressCase = readonly [
  address: string,
  expected: 'public' | 'allowed' | 'refused',
  why: string,
  rules?: RuleSet,
]
