import { z } from "zod";

const text = z.string().max(16_384);
/** Goes into a header: no spaces and no control characters. */
const token = z.string().regex(/^[\x21-\x7e]{1,16384}$/);

const tokensSchema = z.object({
  access_token: token,
  refresh_token: token.optional(),
  scope: text.optional(),
  /** Milliseconds since 1970. Absent if the authorization server did not say. */
  expires_at: z.number().optional(),
});

const clientSchema = z.object({
  client_id: text,
  /** Only of a client that was registered here: that of a configured client stays in its configuration. */
  client_secret: text.optional(),
  token_endpoint_auth_method: text.optional(),
  redirect_uri: text.optional(),
  source: z.enum(["configured", "document", "registered"]),
});

const loginSchema = z.object({
  client: clientSchema,
  tokens: tokensSchema.optional(),
  /** The resource that the tokens are for. */
  resource: text,
  /** The address that its metadata were found by. */
  authorizationServer: text,
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const recordSchema = z.object({
  version: z.literal(1),
  server: text,
  /** The issuer of the tokens that are sent. */
  issuer: text.optional(),
  /** By issuer: what one of them gave is never shown to another. */
  logins: z.record(text, loginSchema),
  /** The process that renews the tokens now. */
  renewal: z.object({ by: z.number(), token: text, until: z.number() }).optional(),
});

export type LoginTokens = Readonly<z.infer<typeof tokensSchema>>;
export type LoginClient = Readonly<z.infer<typeof clientSchema>>;
export type Login = Readonly<z.infer<typeof loginSchema>>;
/** All that is known of the logins at one MCP server. */
export type LoginRecord = Readonly<Omit<z.infer<typeof recordSchema>, "version">>;

/** A damaged file is that of a person who has not logged in. */
export function parseRecord(value: unknown, server: string): LoginRecord {
  const { data } = recordSchema.safeParse(value);
  if (!data || data.server !== server) return { server, logins: {} };
  const { version: _version, ...record } = data;
  return record;
}

/** The tokens of an answer, checked, or undefined for an answer that has none that can be used. */
export function parseTokens(value: unknown): LoginTokens | undefined {
  return tokensSchema.safeParse(value).data;
}

/** The login that is used now. */
export function currentLogin({ issuer, logins }: LoginRecord): Login | undefined {
  return issuer !== undefined && Object.hasOwn(logins, issuer) ? logins[issuer] : undefined;
}

/** Replaces one login, and keeps those of a few other issuers: a server may move, and come back. */
export function withLogin(record: LoginRecord, issuer: string, login: Login): LoginRecord {
  const others = Object.entries(record.logins).filter(([other]) => other !== issuer);
  return { ...record, issuer, logins: Object.fromEntries([...others.slice(-ISSUERS_MAX + 1), [issuer, login]]) };
}

const ISSUERS_MAX = 5;
