/** Writes the commands that send a webhook again by hand, signed as the bridge signs it, from a terminal. Pure. */

/** What the commands send. */
export interface CurlRequest {
  url: string
  webhookId: string
  contentType: string
  /** The endpoint's own headers; a value of null is taken from a variable of the shell, so that nobody copies a key by chance. */
  headers: Readonly<Record<string, string | null>>
  body: string
}

/** What webhooks with one event have. */
export const EVENT_TYPE = 'application/cloudevents+json; charset=utf-8'
/** What webhooks with an array of events have. */
export const BATCH_TYPE = 'application/cloudevents-batch+json; charset=utf-8'

/** The commands. They take the secret from `WEBHOOK_SECRET`. */
export function curlCommand({ url, webhookId, contentType, headers, body }: CurlRequest): string {
  const own = Object.entries(headers).map(([name, value]) =>
    value === null ? `-H "${name}: $${variableOf(name)}"` : `-H ${quoted(`${name}: ${value}`)}`,
  )
  return [
    `BODY=${quoted(body)}`,
    `ID=${quoted(webhookId)}; AT=$(date +%s)`,
    `KEY=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -vtx1 | tr -d ' \\n')`,
    `SIGNATURE=$(printf %s "$ID.$AT.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | base64)`,
    [
      `curl -i ${quoted(url)}`,
      `-H ${quoted(`content-type: ${contentType}`)}`,
      '-H "webhook-id: $ID" -H "webhook-timestamp: $AT" -H "webhook-signature: v1,$SIGNATURE"',
      ...own,
      '--data-raw "$BODY"',
    ].join(' \\\n  '),
  ].join('\n')
}

/** The shell's name for the value of a header, e.g. `X_API_KEY`. */
function variableOf(name: string): string {
  return name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
