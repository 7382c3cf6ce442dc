/**
 * Lists test vectors of the webhook signature, computed with Python's hmac and hashlib, independently of the product.
 * Receivers in any language can be tested with them.
 */

/** One signed message. `body` is UTF-8. */
export interface SignatureVector {
  secret: string
  endpointId: string
  eventId: string
  /** The bytes of the event's `data`, as text. */
  data: string
  webhookId: string
  timestampSeconds: number
  body: string
  signature: string
}

/** All of them. */
export const signatureVectors: readonly SignatureVector[] = [
  {
    secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX',
    endpointId: 'ep_1',
    eventId: 'a.b.c',
    data: '{}',
    webhookId: 'msg_b9af4172ffb091d827e46a322c51091b',
    timestampSeconds: 1,
    body: '',
    signature: 'v1,kR28aj1Cqtv+Znmv9heK0IzJutXmLb9JkGDMCYT8sIE=',
  },
  {
    secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    endpointId: 'ep_1',
    eventId: 'a.b.c',
    data: '{"headline":"a"}',
    webhookId: 'msg_1dbe39137f7fd9d7e8d05a2ad1989475',
    timestampSeconds: 1780300800,
    body: '{"id":"a.b.c"}',
    signature: 'v1,ND6aY8+2rbalKjl2jYQFoxzKSFicUd/iZiOiZY7Zmic=',
  },
  {
    secret: 'whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eDf3t3c29rZ2NfW1dTT0tHQz87NzMvKycjHxsXEw8LBwA==',
    endpointId: 'ep_00000000000000000001',
    eventId: 'guid#2',
    data: '{"headline":"Übernahme – 10 £ € 𝄞"}',
    webhookId: 'msg_edbdae516c1b4148f0b66ebc18d19422',
    timestampSeconds: 1780300801,
    body: '{"data":{"headline":"Übernahme – 10 £ € 𝄞"}}',
    signature: 'v1,YHHD9l1xPeK4KzrAho0l8RYIxibiRcD5FQQvpM9FbeE=',
  },
  {
    secret: 'whsec_IkYQ8QKJC8DkDEn/tFa7k9Rabe6I3Jp77zUfoQ0/hYI=',
    endpointId: 'ep_2',
    eventId: 'gap:7:opened',
    data: '{"a":"\\u0000\\n"}',
    webhookId: 'msg_e493783191e4ef79a0ed1662120a9c21',
    timestampSeconds: 4102444800,
    body: '{"a":"\\u0000\\n"}\n',
    signature: 'v1,WtXKiOgyPmf73hewpjh6QEj5xCqiuyNrBA+3MkNDkOg=',
  },
  {
    secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    endpointId: '',
    eventId: '',
    data: '',
    webhookId: 'msg_75a11da44c802486bc6f65640aa48a73',
    timestampSeconds: 0,
    body: ' ',
    signature: 'v1,Od9akjdqBEDbCKt+e2KEyYLndaAbuJdMnlV9wyHK2kc=',
  },
  {
    secret: 'whsec_////////////////////////////////////////////////////////////////',
    endpointId: 'ep_é',
    eventId: 'é.𝄞',
    data: 'x'.repeat(1000),
    webhookId: 'msg_07e2da0c20436dbeea195bd42f70160d',
    timestampSeconds: 2147483648,
    body: 'x'.repeat(1000),
    signature: 'v1,RpvvRZC+j5skpZ79oBMf4Ztcg7DoEUkTPiKlNsx5L+c=',
  },
]
