/**
 * Turns an operation of the HTTP API into requests that no honest client sends, as bytes: paths, ids, queries, headers,
 * methods and bodies that have broken other servers.
 */
import { gzipSync } from 'node:zlib'

/** What a form is made from. */
export interface Honest {
  method: string
  /** With the ids that an honest client would send. */
  path: string
  /** The same with variable parts in braces. */
  template: string
  /** Lines of headers that carry the credential; empty for none. */
  credential: string
  /** JSON; absent where the operation takes none. */
  body?: string
}

/** One way to be hostile; null where it does not fit the operation. */
interface Form {
  name: string
  bytes(honest: Honest): Buffer | null
  /** Is no operation of the API, whoever asks. */
  isNone?: boolean
  /** The client ends its side after these bytes, which are not a whole request. */
  isCut?: boolean
}

const KIB = 1024

function request(
  { method, path, credential, body }: Honest,
  headers = '',
  own: string | Buffer | undefined = body,
): Buffer {
  const length =
    own === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(own)}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${credential}${headers}${length}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(own ?? '')])
}

/** The head as given, nothing added but host and credential; then those bytes. */
function headed({ method, path, credential }: Honest, headers: string, rest: string | Buffer): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${credential}${headers}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(rest)])
}

const targets: Readonly<Record<string, (path: string) => string>> = {
  'a slash at its end': (path) => `${path}/`,
  'a NUL at its end': (path) => `${path}%00`,
  'two dots that are escaped': (path) => `${path}/%2e%2e/%2e%2e/tokens`,
  'two dots': (path) => `/v1/status/../..${path}`,
  'a file': () => '/../../../../etc/passwd',
  'a matrix parameter': (path) => `${path};jsessionid=1`,
  'two slashes': (path) => `/${path}`,
  'half an escape': (path) => `${path}%`,
  'an escape that is no UTF-8': (path) => `${path}%ff`,
  backslashes: (path) => path.replaceAll('/', '\\'),
  'escaped slashes': (path) => path.slice(0, 1) + path.slice(1).replaceAll('/', '%2f'),
  'capital letters': (path) => path.toUpperCase(),
  'a fragment': (path) => `${path}#/v1/tokens`,
  'another host': (path) => `http://169.254.169.254${path}`,
  'a scheme that is none': (path) => `file://${path}`,
  'no slash': (path) => path.slice(1),
  'a control character': (path) => `${path}\u0001`,
  'a tab': (path) => `${path}\t`,
  'raw bytes': (path) => `${path}/\u00c3\u0028`,
  '15 KB': (path) => `${path}?q=${'a'.repeat(15 * KIB)}`,
  '40 KB': (path) => `${path}?q=${'a'.repeat(40 * KIB)}`,
  'a prototype': (path) => `${path}?__proto__[admin]=1&constructor[prototype][admin]=1`,
  'a thousand parameters': (path) => `${path}?${'a=1&'.repeat(1000)}`,
  'a deep filter': (path) => `${path}?filter=${'['.repeat(5000)}`,
  'a filter of a filter': (path) => `${path}?filter=${'%7B%22exclude%22:'.repeat(200)}`,
  'impossible numbers': (path) => `${path}?limit=1e999&wait=-1&tail=NaN&before=&after=&since=0`,
  'lists for texts': (path) => `${path}?limit[]=1&after[a][b]=1&q=a&q=b&limit=1&limit=2`,
  'half a character': (path) => `${path}?q=%ED%A0%80`,
  'a look-up': (path) => `${path}?q=$%7Bjndi:ldap://127.0.0.3/x%7D`,
  'a statement': (path) => `${path}?q='%20OR%201=1;--&id=1;DROP%20TABLE%20events`,
}
const ids: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  '%00',
  '..',
  '%2e%2e%2f%2e%2e',
  '*',
  "'%20OR%20'1'='1",
  '%E2%80%AE',
  '%0d%0aX-Injected:%201',
  '-1',
  '1e999',
  'a'.repeat(4000),
]
const headerLines: Readonly<Record<string, string>> = {
  'another method':
    'X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: DELETE\r\nX-Method-Override: DELETE\r\n',
  'another address': 'X-Original-URL: /v1/tokens\r\nX-Rewrite-URL: /v1/tokens\r\n',
  'a forged origin': 'X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\n',
  'a forged host': 'X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: javascript\r\n',
  'a forged identity': 'X-User: default\r\nX-Tenant: default\r\nX-Remote-User: admin\r\nX-Scopes: admin\r\n',
  'a second host': 'Host: evil.example\r\n',
  'a second credential': 'Authorization: Bearer x\r\nX-Api-Key: x\r\n',
  'five hundred ranges': `Range: bytes=${Array.from({ length: 500 }, (_, at) => `${at}-${at}`).join(',')}\r\n`,
  'odd conditions': 'If-None-Match: ",,,"\r\nIf-Match: "\r\nIf-Modified-Since: never\r\n',
  'a thousand types': `Accept: ${'a/b;q=0.1,'.repeat(1000)}*/*\r\n`,
  'odd encodings': 'Accept-Encoding: gzip;q=NaN,*;q=-1\r\nAccept-Charset: utf-7\r\n',
  'an expectation': 'Expect: everything\r\n',
  'an upgrade to HTTP/2': 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
  'half an upgrade': 'Upgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 99\r\n',
  'an odd resume point': 'Last-Event-ID: \u0080\u00ff"{}\r\n',
  'a huge resume point': `Last-Event-ID: ${'A'.repeat(8 * KIB)}\r\n`,
  'a huge key': `Idempotency-Key: ${'k'.repeat(8 * KIB)}\r\n`,
  'an odd key': 'Idempotency-Key: __proto__\r\n',
  'three hundred headers': Array.from({ length: 300 }, (_, at) => `X-${at}: ${at}\r\n`).join(''),
  'a header of 20 KB': `X-Long: ${'x'.repeat(20 * KIB)}\r\n`,
  'a folded line': 'X-Folded: a\r\n b\r\n',
  'a space before the colon': 'X-Space : a\r\n',
  'a bare line end': 'X-Bare: a\nX-Other: b\r\n',
  'a header without a name': ': a\r\n',
  'no origin': 'Origin: null\r\nCookie: token=x; admin=true\r\n',
  'odd trace': 'traceparent: 00-zz\r\ntracestate: \u00ff\r\n',
}
const bodyForms: Readonly<Record<string, (honest: Honest) => Buffer>> = {
  'a length and chunks, with a request behind': (honest) =>
    headed(
      honest,
      'Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n',
      '0\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n',
    ),
  'chunks of an odd kind': (honest) => headed(honest, 'Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
  'two lengths': (honest) => headed(honest, 'Content-Length: 2\r\nContent-Length: 3\r\n', '{}x'),
  'a negative length': (honest) => headed(honest, 'Content-Length: -1\r\n', '{}'),
  'a length beyond every number': (honest) => headed(honest, `Content-Length: ${'9'.repeat(40)}\r\n`, '{}'),
  'a chunk beyond every number': (honest) =>
    headed(honest, 'Transfer-Encoding: chunked\r\n', `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`),
  'a chunk that names 20 KB': (honest) =>
    headed(honest, 'Transfer-Encoding: chunked\r\n', `2;x=${'y'.repeat(20 * KIB)}\r\n{}\r\n0\r\n\r\n`),
  'a bomb': (honest) =>
    request(honest, 'Content-Encoding: gzip\r\n', gzipSync(Buffer.alloc(4 * KIB * KIB, ' '))),
  '70 KB': (honest) => request(honest, '', `"${'x'.repeat(70 * KIB)}"`),
  'thirty thousand lists': (honest) => request(honest, '', '['.repeat(30_000)),
  'bytes that are no UTF-8': (honest) => request(honest, '', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
  'a mark of byte order': (honest) => request(honest, '', '\ufeff{}'),
  'equal names': (honest) => request(honest, '', '{"url":1,"url":2,"\\u0075rl":3}'),
  'another type': (honest) =>
    headed(honest, 'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n', '--x--'),
}

const methods = ['TRACE', 'PROPFIND', 'get', 'QUERY', 'G'.repeat(9000), 'PRI', 'CONNECT']

/** Every form. Those of ids fit only operations that have one. */
export const hostileForms: readonly Form[] = [
  ...Object.entries(targets).map(([name, change]) => ({
    name: `the target with ${name}`,
    bytes: (honest: Honest) => request({ ...honest, path: change(honest.path) }),
  })),
  ...ids.map((id) => ({
    name: `the id ${id.slice(0, 30)}`,
    bytes: (honest: Honest) =>
      honest.template.includes('{')
        ? request({ ...honest, path: honest.template.replace(/\{\w+\}/, id) })
        : null,
  })),
  ...Object.entries(headerLines).map(([name, lines]) => ({
    name: `headers with ${name}`,
    bytes: (honest: Honest) => request(honest, lines),
  })),
  ...Object.entries(bodyForms).map(([name, bytes]) => ({ name: `a body of ${name}`, bytes })),
  {
    name: 'a body that never ends',
    isCut: true,
    bytes: (honest) => headed(honest, 'Content-Type: application/json\r\nContent-Length: 99\r\n', '{"a":'),
  },
  { name: 'half a head', isCut: true, bytes: (honest) => request(honest).subarray(0, 20) },
  ...methods.map((method) => ({
    name: `the method ${method.slice(0, 30)}`,
    isNone: true,
    bytes: (honest: Honest) => request({ ...honest, method }),
  })),
]
