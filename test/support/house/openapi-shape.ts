/**
 * Defines the shape of an OpenAPI 3.1 document, as far as this project uses it: objects and members (version 3.1.1,
 * section 4), schemas with the keywords of JSON Schema 2020-12. Strict: an unknown member is an error.
 */
import * as z from 'zod'

const TYPES = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null'] as const
const type = z.enum(TYPES)

const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') })

const schema: z.ZodType = z.lazy(() =>
  z.strictObject({
    $ref: z.string().startsWith('#/components/schemas/').optional(),
    description: z.string().min(1).optional(),
    type: z.union([type, z.array(type).min(1)]).optional(),
    format: z.enum(['date-time', 'date', 'uri']).optional(),
    enum: z
      .array(z.union([z.string(), z.null()]))
      .min(1)
      .optional(),
    const: z.union([z.string(), z.boolean()]).optional(),
    default: z.union([z.string(), z.number(), z.boolean()]).optional(),
    pattern: z.string().refine(isPattern, 'is no regular expression').optional(),
    minLength: z.int().min(0).optional(),
    maxLength: z.int().min(0).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    items: schema.optional(),
    minItems: z.int().min(0).optional(),
    maxItems: z.int().min(0).optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).min(1).optional(),
    additionalProperties: z.union([z.boolean(), schema]).optional(),
    oneOf: z.array(schema).min(1).optional(),
    anyOf: z.array(schema).min(1).optional(),
    allOf: z.array(schema).min(1).optional(),
  }),
)

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

const content = z.record(z.string().regex(/^[a-z]+\/[a-z.+-]+$/), z.strictObject({ schema }))
const header = z.strictObject({ description: z.string().min(1), schema })

const parameter = z
  .strictObject({
    name: z.string().min(1),
    in: z.enum(['path', 'query', 'header', 'cookie']),
    description: z.string().min(1),
    required: z.boolean().optional(),
    style: z.enum(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'simple']).optional(),
    explode: z.boolean().optional(),
    schema: schema.optional(),
    content: content.optional(),
  })
  .refine(({ schema, content }) => (schema === undefined) !== (content === undefined), 'schema or content')
  .refine((own) => own.in !== 'path' || own.required === true, 'a path parameter is required')

const response = z.strictObject({
  description: z.string().min(1),
  headers: z.record(z.string(), z.union([header, reference])).optional(),
  content: content.optional(),
})

const operation = z.strictObject({
  operationId: z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/),
  tags: z.array(z.string().min(1)).min(1),
  summary: z.string().min(1),
  description: z.string().min(1),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(parameter),
  requestBody: z.strictObject({ description: z.string().min(1), required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.union([reference, response])),
})

const securityScheme = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer'), description: z.string().min(1) }),
  z.strictObject({
    type: z.literal('apiKey'),
    in: z.enum(['header', 'query', 'cookie']),
    name: z.string().min(1),
    description: z.string().min(1),
  }),
])

const componentKey = z.string().regex(/^[a-zA-Z0-9._-]+$/)

/** The document. */
export const openApiShape = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: z.strictObject({
    title: z.string().min(1),
    version: z.string().min(1),
    description: z.string().min(1),
    license: z.strictObject({ name: z.string().min(1), identifier: z.string().min(1) }),
  }),
  servers: z.array(z.strictObject({ url: z.string().min(1), description: z.string().min(1) })).min(1),
  tags: z.array(z.strictObject({ name: z.string().min(1), description: z.string().min(1).optional() })),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({
      get: operation.optional(),
      post: operation.optional(),
      put: operation.optional(),
      patch: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  components: z.strictObject({
    securitySchemes: z.record(componentKey, securityScheme),
    schemas: z.record(componentKey, schema),
    headers: z.record(componentKey, header).optional(),
    responses: z.record(componentKey, response),
  }),
})

/** A document that has the shape. */
export type OpenApi = z.infer<typeof openApiShape>
/** One method on one path of it. */
export type Operation = z.infer<typeof operation>
