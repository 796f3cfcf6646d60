export type Challenge =
  | { readonly kind: "basic" }
  | { readonly kind: "bearer"; readonly realm: string; readonly service: string | undefined };

const PARAMETER = /(?<=[\s,])([a-z_]+)=(?:"([^"]*)"|([^\s,"]+))/gi;

/** Reads a header `WWW-Authenticate`. A registry that takes tokens is asked with a token, whatever else it takes. */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  const text = header ?? "";
  const bearer = /(?:^|[\s,])bearer\s/i.exec(text);
  if (bearer) {
    const parameters = new Map(
      [...text.slice(bearer.index).matchAll(PARAMETER)].map(([, key, quoted, plain]) => [key?.toLowerCase(), quoted ?? plain]),
    );
    const realm = parameters.get("realm");
    if (realm !== undefined) return { kind: "bearer", realm, service: parameters.get("service") };
  }
  return /(?:^|[\s,])basic(?:\s|$)/i.test(text) ? { kind: "basic" } : undefined;
}
