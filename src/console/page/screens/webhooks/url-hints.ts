/**
 * Says while somebody types what the bridge would refuse in a URL, by the rules of `webhooks/address/judge-url.ts` that need no
 * settings. Hosts, ports and plain http depend on the settings of the bridge, which has the last word.
 */

const LONGEST = 2048
/** Controls, blanks and backslashes. */
const ODD = /[\0-\x20\x7f\\]/

/** What is wrong with the text, without its subject; null for nothing, and for text that is not finished. */
export function urlHint(typed: string): string | null {
  // The form takes blanks around it away.
  const text = typed.trim()
  if (text === '' || 'https://'.startsWith(text) || 'http://'.startsWith(text)) return null
  if (text.length > LONGEST) return `is longer than ${LONGEST} characters`
  if (ODD.test(text)) return 'must hold no blank, backslash or control character'
  const url = URL.parse(text)
  if (!/^https?:/i.test(text)) return 'must begin with https://'
  if (url === null) return 'must be a URL such as https://hooks.example/path'
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must have its host right after the //'
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(text))
    return 'must hold no user or password before the host: use a custom header'
  if (text.includes('#')) return 'must have no fragment (#): it would never be sent'
  if (url.href.length > LONGEST) return `is longer than ${LONGEST} characters once it is encoded`
  const host = url.hostname.replace(/\.$/, '')
  if (host === '' || host.length > 253) return 'must have a host name of up to 253 characters'
  if (host.split('.').includes('')) return 'must have a host name without an empty part (..)'
  return url.port === '0' ? 'must have a port from 1 to 65535' : null
}
