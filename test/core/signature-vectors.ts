/**
 * Lists test vectors of the webhook signature, computed with Python's hmac and hashlib, independently of the product.
 * Receivers in any language can be tested with them.
 */

/** One signed message. `body` is UTF-8. */
export interface SignatureVector {
  secret: string
  endpointId: string
  eventId: string
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
    webhookId: 'msg_5c07e8818e89b9ec52f72eae04d0084d',
    timestampSeconds: 1,
    body: '',
    signature: 'v1,1k9H7zyZhrUQKtnxMJ95dg6mFjHrJrlb4H6icKruiFA=',
  },
  {
    secret: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    endpointId: 'ep_1',
    eventId: 'a.b.c',
    webhookId: 'msg_5c07e8818e89b9ec52f72eae04d0084d',
    timestampSeconds: 1780300800,
    body: '{"id":"a.b.c"}',
    signature: 'v1,74eXvS1pxWzJHFtQdcfFr++sU+cuGxN89c0qwLFY9Pc=',
  },
  {
    secret: 'whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eDf3t3c29rZ2NfW1dTT0tHQz87NzMvKycjHxsXEw8LBwA==',
    endpointId: 'ep_00000000000000000001',
    eventId: 'guid#2',
    webhookId: 'msg_52609814051f7926fbbee144c92df84a',
    timestampSeconds: 1780300801,
    body: '{"data":{"headline":"Übernahme – 10 £ € 𝄞"}}',
    signature: 'v1,DQHqyPAj3Dz0usOYmCfSH7czLzobKFwaa8pCkDlPU9Q=',
  },
  {
    secret: 'whsec_IkYQ8QKJC8DkDEn/tFa7k9Rabe6I3Jp77zUfoQ0/hYI=',
    endpointId: 'ep_2',
    eventId: 'gap:7:opened',
    webhookId: 'msg_9e8d0ff77d1929edf67ed1328b0c243b',
    timestampSeconds: 4102444800,
    body: '{"a":"\\u0000\\n"}\n',
    signature: 'v1,bSLA6AWmbT41Et/+Ur+TorN8AYIyyIyqBFBqoVnsGa4=',
  },
  {
    secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    endpointId: '',
    eventId: '',
    webhookId: 'msg_01ba4719c80b6fe911b091a7c05124b6',
    timestampSeconds: 0,
    body: ' ',
    signature: 'v1,l9rQu4IyyL40O04j7Lvxegq1SQ1+2oH3WsNMBVpP6ts=',
  },
  {
    secret: 'whsec_////////////////////////////////////////////////////////////////',
    endpointId: 'ep_é',
    eventId: 'é.𝄞',
    webhookId: 'msg_aedc9473702181bab0448698a8fb4027',
    timestampSeconds: 2147483648,
    body: 'x'.repeat(1000),
    signature: 'v1,ulMG+srrbDt2BplO65ypkD/RcAo/R5de3XftU+T5Pdc=',
  },
]
