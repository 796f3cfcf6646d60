import { z } from "zod";
import type { OAuthSettings } from "../oauth/auth-settings.ts";
import { isRecord } from "./is-record.ts";

const text = z.string().min(1).max(16_384);
const scopes = z
  .union([
    z.string().max(16_384),
    z
      .array(text)
      .max(100)
      .transform((list) => list.join(" ")),
  ])
  .optional();
const port = z.number().int().min(1).max(65_535).optional();

/** Belljar's own form. A wrong field of it is an error, since it says how a secret is sent. */
const authSchema = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("oauth"),
    clientId: text.optional(),
    clientSecret: text.optional(),
    clientDocument: z.url({ protocol: /^https$/ }).optional(),
    scope: scopes,
    callbackPort: port,
  }),
  z.looseObject({ type: z.literal("bearer"), token: text }),
  z.looseObject({ type: z.literal("header"), name: text, value: text }),
]);

/** The forms of Claude Code, Gemini CLI and opencode, and that of Cursor. What is wrong in them is another host's. */
const oauthSchema = z.looseObject({ clientId: text.optional(), clientSecret: text.optional(), scope: scopes, scopes, callbackPort: port });
const cursorSchema = z.looseObject({ CLIENT_ID: text, CLIENT_SECRET: text.optional(), scopes });

export interface AuthFields {
  readonly headers: Readonly<Record<string, string>>;
  readonly oauth: OAuthSettings | undefined;
}

/**
 * Reads how an entry says who calls. A bearer token and a key are headers from then on. `fail` makes the error for a field of `auth`.
 */
export function readAuth(auth: unknown, oauth: unknown, fail: (field: string, problem: string) => Error): AuthFields {
  if (isRecord(auth) && typeof auth["type"] === "string" && ["oauth", "bearer", "header"].includes(auth["type"]))
    return readOwn(auth, fail);
  const cursor = cursorSchema.safeParse(auth).data;
  if (cursor)
    return { headers: {}, oauth: { isAsked: true, clientId: cursor.CLIENT_ID, clientSecret: cursor.CLIENT_SECRET, scope: cursor.scopes } };
  if (oauth === false || (isRecord(oauth) && oauth["enabled"] === false)) return { headers: {}, oauth: undefined };
  const found = oauthSchema.safeParse(oauth).data;
  if (!found) return { headers: {}, oauth: { isAsked: false } };
  const { clientId, clientSecret, scope, scopes: several, callbackPort } = found;
  return { headers: {}, oauth: { isAsked: true, clientId, clientSecret, scope: scope ?? several, callbackPort } };
}

function readOwn(auth: Readonly<Record<string, unknown>>, fail: (field: string, problem: string) => Error): AuthFields {
  const parsed = authSchema.safeParse(auth);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw fail(["auth", ...(issue?.path.map(String) ?? [])].join("."), issue?.message ?? "cannot be read");
  }
  const { data } = parsed;
  if (data.type === "bearer") return { headers: { Authorization: `Bearer ${data.token}` }, oauth: undefined };
  if (data.type === "header") return { headers: { [data.name]: data.value }, oauth: undefined };
  const { clientId, clientSecret, clientDocument, scope, callbackPort } = data;
  return { headers: {}, oauth: { isAsked: true, clientId, clientSecret, clientDocument, scope, callbackPort } };
}
