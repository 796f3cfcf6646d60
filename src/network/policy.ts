/**
 * The places that a sandbox may reach. A rule is a text: the name of a set (`npm`, `pypi`, `debian`, `github`), or
 * `[METHOD[+METHOD...] ][http|https://]host[:port][/path-prefix]`. `host` is an exact name, `*.example.com` (every name below
 * example.com), or an address. It must match what the program names: a rule for a name does not allow its address, nor the reverse.
 * Without a port, a rule allows 80 (http) and 443 (https). A rule for https with methods or a path makes the proxy read the traffic.
 * Rules are kept as texts in canonical form, so that the journal, the audit and all answers show the same text.
 */
export type NetworkPolicy = "none" | "all" | { readonly allow: readonly string[] };

/** A variable inside that holds a placeholder for a secret. The secret's value is sent only to `hosts`, and never gets inside. */
export interface SecretUse {
  /** Name of the secret, as in `belljar secret set NAME`. */
  readonly secret: string;
  /** Exact host names, each with an optional port (default 443). The network policy must allow them. */
  readonly hosts: readonly string[];
}

/** The keys are the names of the variables inside. */
export type SecretUses = Readonly<Record<string, SecretUse>>;
