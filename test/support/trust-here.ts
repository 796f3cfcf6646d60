import dns from "node:dns";
import tls from "node:tls";

/**
 * Until it is disposed, this process trusts the authority and finds names below `localhost` on this machine, as programs do that are started with
 * `NODE_EXTRA_CA_CERTS` on a system that resolves them.
 */
export function trustHere(authorityPem: string): Disposable {
  const { createSecureContext } = tls;
  const { lookup } = dns;
  tls.createSecureContext = (options) => {
    const made = createSecureContext(options);
    (made.context as { addCACert(pem: string): void }).addCACert(authorityPem);
    return made;
  };
  dns.lookup = lookupHere(lookup) as typeof lookup;
  return {
    [Symbol.dispose]() {
      tls.createSecureContext = createSecureContext;
      dns.lookup = lookup;
    },
  };
}

type Found = (error: null, address: string | readonly dns.LookupAddress[], family?: number) => void;

function lookupHere(lookup: typeof dns.lookup) {
  return (name: string, options: dns.LookupOptions, done: Found): void => {
    if (!/(?:^|\.)localhost$/i.test(name)) return (lookup as (...args: unknown[]) => void)(name, options, done);
    const found = { address: "127.0.0.1", family: 4 };
    process.nextTick(() => (options.all ? done(null, [found]) : done(null, found.address, found.family)));
  };
}
