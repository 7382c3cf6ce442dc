import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { alertsOf, quickRules } from './quick-rules.ts'

const RULES = `
groups:
  - name: some
    interval: 1m
    rules:
      - record: a:b
        expr: rate(x[5m])
      - alert: Soon
        expr: increase(x[15m]) > 0
        labels: { severity: page }
      - alert: Later
        expr: avg_over_time(x[5m] offset 1h) > 60
        for: 10m
        labels: { severity: ticket }
`

test('only the waits of alerts are shortened, and the interval of a group goes', () => {
  expect(parse(quickRules(RULES, (seconds) => seconds / 10))).toEqual({
    groups: [
      {
        name: 'some',
        rules: [
          { record: 'a:b', expr: 'rate(x[5m])' },
          { alert: 'Soon', expr: 'increase(x[15m]) > 0', labels: { severity: 'page' } },
          {
            alert: 'Later',
            expr: 'avg_over_time(x[5m] offset 1h) > 60',
            for: '60s',
            labels: { severity: 'ticket' },
          },
        ],
      },
    ],
  })
})

test('alerts are known by severity and wait', () => {
  expect([...alertsOf(RULES)]).toEqual([
    ['Soon', { severity: 'page', waitSeconds: 0 }],
    ['Later', { severity: 'ticket', waitSeconds: 600 }],
  ])
})

test('a duration of another kind is refused', () => {
  expect(() => quickRules(RULES.replace('10m', '1h30m'), (seconds) => seconds)).toThrow(
    '1h30m is no duration',
  )
})
