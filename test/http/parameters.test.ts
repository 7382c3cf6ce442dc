import { expect, test } from 'vitest'
import { MOST_ERRORS } from '../../src/errors.ts'
import { Query } from '../../src/http/parameters.ts'
import { HttpProblem } from '../../src/http/problem.ts'

test('an answer names the first twenty wrong parameters, however many there are', () => {
  const names = Array.from({ length: 2000 }, (_, at) => `p${at}=`)
  const query = new Query(`/openapi.json?${names.join('&')}`, ['limit'])
  let problem: unknown
  try {
    query.check()
  } catch (error) {
    problem = error
  }
  if (!(problem instanceof HttpProblem)) throw new Error('taken')
  expect(problem.parts.errors?.map(({ field }) => field)).toEqual(
    Array.from({ length: MOST_ERRORS }, (_, at) => `p${at}`),
  )
  expect(problem.message.length).toBeLessThan(200)
})
