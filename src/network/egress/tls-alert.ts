const ALERTS = { access_denied: 49, unrecognized_name: 112, unexpected_message: 10, internal_error: 80 } as const;

/** Returns an unencrypted fatal alert, which a server may send before the handshake. */
export function tlsAlert(name: keyof typeof ALERTS): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, ALERTS[name]]);
}
