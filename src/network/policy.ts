/**
 * What a sandbox may reach beyond itself. A rule is a text:
 * the name of a named set (`npm`, `pypi`, `debian`, `github`), or `[METHOD[+METHOD...] ][http|https://]host[:port][/path-prefix]`.
 * `host` is exact, `*.example.com` (any name below it, not itself), or an address, which counts only when written so.
 * Without a port a rule is for 80 (http) and 443 (https). Methods or a path on https make the host's traffic readable to the proxy.
 * Texts are kept as they were written (in canonical form), so that the journal, the audit and every answer show the same rule.
 */
export type NetworkPolicy = "none" | "all" | { readonly allow: readonly string[] };

/** One variable that holds a placeholder for a secret: the value goes to `hosts` alone, and never inside. */
export interface SecretUse {
  /** The secret's name, as `belljar secret set NAME` stored it. */
  readonly secret: string;
  /** Exact host names, each with an optional port (default 443). The network policy must allow them. */
  readonly hosts: readonly string[];
}

/** By the name of the variable that is set inside. */
export type SecretUses = Readonly<Record<string, SecretUse>>;
