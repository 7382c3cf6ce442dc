/** Decides who may act on the installation as a whole, and how long the body of such a request may be. */
import { type Caller, DEFAULT_TENANT, isOperator } from '../../http/auth.ts'
import { HttpProblem } from '../../http/problem.ts'

/** The longest body of a request to `/v1/admin`. */
export const MAX_ADMIN_BODY_BYTES = 4096

/** @throws HttpProblem `forbidden` for a token of another tenant */
export function requireOperator({ caller }: { caller: Caller }): void {
  if (isOperator(caller)) return
  throw new HttpProblem(
    'forbidden',
    `only a token of the tenant ${DEFAULT_TENANT} may do this, because it concerns all tenants`,
  )
}
