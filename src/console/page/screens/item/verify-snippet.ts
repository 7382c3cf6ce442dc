/** Shows how a receiver checks the signature of an event, by the official library of Standard Webhooks. */
import { type ComponentChildren, h } from 'preact'
import { CopyButton } from '../../parts/copy.ts'

/** A module of a receiver, for Node and other JavaScript runtimes. */
const verifySnippet = [
  '// npm install standardwebhooks',
  "import { Webhook } from 'standardwebhooks'",
  '',
  'const webhook = new Webhook(process.env.WEBHOOK_SECRET)',
  '',
  '/** The event of a genuine request; throws for any other. body: the text as it came, before anything parses it. */',
  'export function eventOf(headers, body) {',
  '  return webhook.verify(body, headers)',
  '}',
].join('\n')

/** The snippet, closed at first. */
export function VerifySnippet(_: object): ComponentChildren {
  return h(
    'details',
    null,
    h('summary', null, 'How a receiver checks the signature'),
    h(
      'p',
      null,
      'Each request is signed with the secret of its endpoint, shown once when it was made or rotated. Libraries of Standard Webhooks check it, in JavaScript so. ',
      h(CopyButton, { text: verifySnippet, what: 'the module' }),
    ),
    h(
      'pre',
      { class: 'command', tabIndex: 0, role: 'region', 'aria-label': 'A module that checks the signature' },
      h('code', null, verifySnippet),
    ),
  )
}
