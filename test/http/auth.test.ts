import { expect, test } from 'vitest'
import { adminAuthenticate, settingsCaller } from '../../src/http/auth.ts'

test('without an admin token no token is the administrator, an empty one least of all', () => {
  for (const adminToken of [null, '']) {
    const authenticate = adminAuthenticate(adminToken)
    expect([authenticate(''), authenticate('null'), authenticate('undefined')]).toEqual(
      Array(3).fill('unknown'),
    )
  }
  expect(adminAuthenticate('the token')('the token')).toBe(settingsCaller)
})
