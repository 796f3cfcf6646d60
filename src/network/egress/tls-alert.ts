const ALERTS = { access_denied: 49, unrecognized_name: 112, unexpected_message: 10, internal_error: 80 } as const;

/** A fatal alert in the clear, as a server may send it before anything is encrypted. */
export function tlsAlert(name: keyof typeof ALERTS): Buffer {
  return Buffer.from([21, 3, 3, 0, 2, 2, ALERTS[name]]);
}
