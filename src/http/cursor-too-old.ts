/** Makes the 410 answer to a cursor whose events are no longer kept; pull and streams share it. */
import { HttpProblem } from './problem.ts'

/** `oldest` is the earliest cursor that can be resumed from; it is in the body too. */
export function tooOld(oldest: string): HttpProblem {
  return new HttpProblem(
    'cursor_too_old',
    'the events after this cursor were dropped by age; start over from `oldest`: the events before it can no longer be read',
    { extra: { oldest } },
  )
}
