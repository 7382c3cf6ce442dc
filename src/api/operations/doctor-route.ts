/** Serves `GET /v1/doctor`: what the doctor finds from inside the node that answers. */
import { z } from 'zod'
import { type Route, sendJson } from '../../http/route.ts'
import type { Status } from '../routes/status.ts'

const doctorSchema = z.object({
  data: z
    .array(
      z.object({
        level: z
          .enum(['ok', 'warn', 'fail'])
          .describe('`fail`: the bridge cannot work; `warn`: it works, with a risk.'),
        name: z.string().describe('What was checked, one word.'),
        finding: z.string().describe('What was found.'),
        todo: z.string().describe('What to do about it.').nullable(),
      }),
    )
    .describe('A finding of each check.'),
  reason: z.string().describe('Why there is none, in words; `null` where there are findings.').nullable(),
})

/** The answer. */
export type DoctorAnswer = z.infer<typeof doctorSchema>

/** Gives the findings on this node, from its present status. */
export type Doctor = (status: Status) => DoctorAnswer['data']

const OPERATOR = 'Only BRIDGE_ADMIN_TOKEN sees what the doctor finds: it is about the machine of the bridge.'
const NO_DOCTOR = 'This process was started without a doctor: run bridge doctor on its machine.'

/** The route. `doctor` null: the process was started without one, as in tests. */
export function doctorRoute(doctor: (() => DoctorAnswer['data']) | null): Route {
  return {
    method: 'GET',
    path: '/v1/doctor',
    scope: 'admin',
    summary:
      'What `bridge doctor` finds from inside the node that answers: settings, machine, files, exposure, replica, leader, key and quota. It sends no request and spends nothing; the command also checks upstream and Kafka. Only `BRIDGE_ADMIN_TOKEN` sees it; `reason` says so to others.',
    parameters: {},
    answers: { 200: { meaning: 'The findings.', schema: doctorSchema } },
    async handle({ query, caller, response }) {
      query.check()
      const reason = !caller.seesAllTenants ? OPERATOR : doctor === null ? NO_DOCTOR : null
      const data = reason === null && doctor !== null ? doctor() : []
      const body: DoctorAnswer = { data, reason }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}
