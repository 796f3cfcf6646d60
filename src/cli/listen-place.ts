import { usage } from "./usage.ts";

/** What `--listen HOST[:PORT]` names; an IPv6 address with a port stands in brackets. Throws a usage error. */
export function listenPlace(text: string | undefined): { readonly host?: string; readonly port?: number } {
  if (text === undefined) return {};
  const [, bracketed, host = bracketed, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:\s]+|[0-9a-f:]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || (port !== undefined && port > 65_535))
    throw usage(`--listen takes HOST or HOST:PORT, not ${JSON.stringify(text.slice(0, 80))}`, "belljar serve --help");
  return { host, ...(port !== undefined && { port }) };
}
