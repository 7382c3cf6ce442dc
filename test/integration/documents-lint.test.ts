/** Validates both API documents: by the official schema of AsyncAPI, and by a linter with all rules on. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { documentedRoutes } from '../../docs/generate.ts'
import { fundRoutes } from '../../src/api/mirror/fund-routes.ts'
import { referenceRoutes } from '../../src/api/mirror/reference-routes.ts'
import { openApiDocument } from '../../src/api/openapi/document.ts'
import { upstreamDocument } from '../../src/api/openapi/upstream-document.ts'
import { fundsOff } from '../../src/api/routes/fund-gateway.ts'
import { productDocument } from '../support/house/asyncapi-document.ts'
import { explanations, lintFindings } from '../support/house/redocly.ts'

const asyncApi = productDocument()
const mirrored = [...referenceRoutes({ list: () => [], detail: () => null }), ...fundRoutes(fundsOff)]
const openApi = openApiDocument({
  routes: documentedRoutes(),
  mirror: { prefix: '/v2', routes: mirrored },
})

describe('the AsyncAPI document', () => {
  test('is valid by the official schema of AsyncAPI 3.0.0, which rejects a wrong document', () => {
    const path = fileURLToPath(import.meta.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json'))
    const ajv = new Ajv({ strict: false, allErrors: true })
    addFormats.default(ajv)
    const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')))
    validate(asyncApi)
    expect(validate.errors).toBeNull()
    expect(validate({ ...asyncApi, channels: { all: { adress: 'all' } } })).toBe(false)
    expect(validate({ ...asyncApi, asyncapi: '2.6.0' })).toBe(false)
  })

  test('passes the linter', async () => {
    expect(await lintFindings(asyncApi)).toEqual({ wrong: [], explained: [] })
  })

  test('with an error is rejected by the linter', async () => {
    const [name = '', channel] = Object.entries(asyncApi.channels)[0] ?? []
    const wrong = { ...asyncApi, channels: { ...asyncApi.channels, [name]: { ...channel, adress: 'x' } } }
    expect((await lintFindings(wrong)).wrong).toEqual([
      expect.stringMatching(/^struct #\/channels\/.*adress/),
    ])
  })
})

describe('the OpenAPI document', () => {
  test('passes the linter but for documented exceptions, each of which is needed', async () => {
    const { wrong, explained } = await lintFindings(openApi)
    expect(wrong).toEqual([])
    expect(explained).toEqual(explanations)
  })

  test('of the upstream API alone passes the linter', async () => {
    expect((await lintFindings(upstreamDocument(mirrored))).wrong).toEqual([])
  })

  test('with an error is rejected by the linter', async () => {
    const { tags: _tags, ...others } = openApi
    const { wrong } = await lintFindings({ ...others, servers: [{ adress: '/' }] })
    expect(wrong).toEqual(expect.arrayContaining([expect.stringMatching(/^struct #\/servers\/0.*adress/)]))
    expect(wrong.filter((finding) => finding.startsWith('operation-tag-defined')).length).toBeGreaterThan(15)
  })
})
