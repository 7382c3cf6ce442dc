/** Compares the types by which the console reads answers with the schemas of the bridge, so that a change breaks the check. */
import { expect, it } from 'vitest'
import type { z } from 'zod'
import type { Filter } from '../../clients/typescript/src/messages.ts'
import type { ConsumersPage } from '../../src/api/operations/consumers-route.ts'
import type { DoctorAnswer } from '../../src/api/operations/doctor-route.ts'
import type { listedToken, madeToken } from '../../src/api/routes/token-schema.ts'
import type { ManagingAnswers } from '../../src/console/page/parts/managing-answers.ts'
import type { Listed } from '../../src/console/page/parts/reading-answers.ts'
import type { streamsPage } from '../../src/streams/management/stream-schema.ts'
import type { attemptSchema, deliverySchema } from '../../src/webhooks/attempts/attempt-view.ts'
import type { endpointSchema, endpointWithSecretSchema } from '../../src/webhooks/endpoints/endpoint-view.ts'

/** What the bridge answers, for each request of the screens whose schema has a name. */
interface Given {
  'GET /v1/tokens': Listed<z.infer<typeof listedToken>>
  'POST /v1/tokens': z.infer<typeof madeToken>
  'GET /v1/streams': z.infer<typeof streamsPage>
  'GET /v1/consumers': ConsumersPage
  'GET /v1/doctor': DoctorAnswer
  'GET /v1/webhooks': Listed<z.infer<typeof endpointSchema>>
  'POST /v1/webhooks': z.infer<typeof endpointWithSecretSchema>
  'GET /v1/webhooks/{id}': z.infer<typeof endpointSchema>
  'GET /v1/webhooks/{id}/attempts': Listed<z.infer<typeof attemptSchema>>
  'GET /v1/webhooks/{id}/deliveries': Listed<z.infer<typeof deliverySchema>>
}

/** With the filters of the client, which has a name for each form that zod infers. */
type WithFilter<T> = T extends readonly (infer One)[]
  ? WithFilter<One>[]
  : T extends object
    ? { [Name in keyof T]: Name extends 'filter' ? Filter : WithFilter<T[Name]> }
    : T

/** The requests whose answer the console reads otherwise than the bridge gives it. */
type Misread = {
  [Call in keyof Given]: WithFilter<Given[Call]> extends ManagingAnswers[Call] ? never : Call
}[keyof Given]

it('reads every answer as the bridge gives it', () => {
  const misread: Misread[] = []
  const none: never[] = misread
  expect(none).toEqual([])
})
