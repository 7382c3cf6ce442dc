/**
 * Finds the webhook endpoint that the path of a request names. An endpoint of another tenant is answered like one that
 * does not exist.
 */
import { ENDPOINTS_PATH } from '../../core/endpoint-status.ts'
import { HttpProblem, retryLater } from '../../http/problem.ts'
import type { Call } from '../../http/route.ts'
import type { Endpoint, Endpoints } from '../../registry/endpoints.ts'

/** Path of one endpoint. */
export const ONE_ENDPOINT_PATH = `${ENDPOINTS_PATH}/{id}`

/** What names an endpoint: the path, and whose it has to be. */
export type PathTarget = Pick<Call, 'segment' | 'caller'>

/**
 * The endpoint of the path.
 * @throws HttpProblem `not_found` where the caller has none of this id, `unavailable` while they are being read
 */
export function endpointOf(call: PathTarget, endpoints: Endpoints): Endpoint {
  checkLoaded(endpoints)
  const endpoint = endpoints.get(call.segment('id'))
  const { seesAllTenants, tenant } = call.caller
  if (endpoint === null || !(seesAllTenants || endpoint.tenant === tenant)) throw unknownEndpoint()
  return endpoint
}

/** @throws HttpProblem `unavailable` until the endpoints have been read */
export function checkLoaded(endpoints: Endpoints): void {
  if (!endpoints.isLoaded) throw retryLater('unavailable', 'this node has not read the endpoints yet')
}

/** The answer where it was not there, or is no longer. */
export function unknownEndpoint(): HttpProblem {
  return new HttpProblem('not_found', `there is no endpoint of this id; GET ${ENDPOINTS_PATH} lists them`)
}
