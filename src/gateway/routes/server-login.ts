import * as z from "zod";

const value = z.string().min(1).max(8_192);

/** Both requests of a login. What both need is in neither. */
const fields = z.strictObject({
  redirectUri: value.optional().describe("Begins: where the browser comes back to, by https: or on loopback. Default: a port of loopback"),
  scope: value.optional().describe("Begins: more scopes than the server asks for, with spaces between"),
  redirect: z.string().min(1).max(32_768).optional().describe("Ends: the whole address that the browser came back to"),
  code: value.optional().describe("Ends: of that address, in the place of `redirect`, with `state`, and `iss` if it has one"),
  state: value.optional(),
  iss: value.optional(),
});

type Fields = z.output<typeof fields>;

export const loginBody = fields.refine(
  isOneRequest,
  "begin with redirectUri and scope or nothing; end with redirect, or with code and state",
);

/** The query that the browser came back with. Undefined for a request that begins a login. */
export function queryOf({ redirect, ...parts }: Pick<Fields, "redirect" | "code" | "state" | "iss">): URLSearchParams | undefined {
  if (redirect !== undefined) return URL.canParse(redirect) ? new URL(redirect).searchParams : new URLSearchParams();
  if (parts.code === undefined) return undefined;
  return new URLSearchParams(Object.entries(parts).filter((part): part is [string, string] => part[1] !== undefined));
}

function isOneRequest({ redirectUri, scope, redirect, code, state, iss }: Fields): boolean {
  const begins = redirectUri !== undefined || scope !== undefined;
  const hasParts = code !== undefined || state !== undefined || iss !== undefined;
  if (redirect !== undefined) return !begins && !hasParts;
  return !hasParts || (!begins && code !== undefined && state !== undefined);
}
