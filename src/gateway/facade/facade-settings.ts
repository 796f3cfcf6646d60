import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { SecretStoreOptions } from "../../secrets/create-secret-store.ts";
import { createSettingsStore } from "../../secrets/create-secret-store.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { credentialBody, customMcpBody } from "./facade-bodies.ts";

/** What a caller told the server of its outside tool server. Third parties' keys stay there, and this credential stays here. */
export interface Credential {
  readonly user_api_key: string;
  readonly session_id: string;
  readonly [more: string]: unknown;
}

export interface ToolServer {
  readonly url: string;
  readonly credential: Credential;
}

/** Each caller's own; nobody sees or changes another one's. */
export interface FacadeSettings {
  setCredential(principal: Principal, credential: Credential): Promise<void>;
  /** The credential that came last goes to this address and to no other. Rejects with `ARGUMENTS_INVALID` without one. */
  setToolServer(principal: Principal, url: string): Promise<void>;
  toolServer(principal: Principal): Promise<ToolServer | undefined>;
  /** Rejects with `ARGUMENTS_INVALID` without a credential that has been bound to no other address. */
  assertMaySet(principal: Principal, url: string): Promise<void>;
  /** The MCP servers that a caller sent to a Belljar that served none of them. */
  servers(principal: Principal): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>>;
}

const stored = z.object({ credential: credentialBody, boundTo: z.string().optional() });
const storedServers = customMcpBody.shape.mcpServers;
const TOOL_SERVER = "tool-server";
const MCP_SERVERS = "mcp-servers";

/** Sealed on disk, since both hold keys, and apart from the callers' secrets. */
export function createFacadeSettings(home: SecretStoreOptions): FacadeSettings {
  const store = createSettingsStore(home);
  const read = async <T>(owner: string, name: string, schema: z.ZodType<T>): Promise<T | undefined> => {
    const value = await store.reveal(owner, name);
    return value === undefined ? undefined : schema.parse(JSON.parse(value));
  };
  const write = (owner: string, name: string, value: unknown): Promise<void> => store.set(owner, name, JSON.stringify(value));
  const bindable = async (principal: Principal, url: string): Promise<Credential> => {
    const known = await read(principal.id, TOOL_SERVER, stored);
    if (known && (known.boundTo === undefined || known.boundTo === url)) return known.credential;
    const why = known ? "The credential was given for another tool server" : "There is no credential yet";
    throw new BelljarError("ARGUMENTS_INVALID", `${why}: send the one for this tool server to /credential first`);
  };
  return {
    setCredential: (principal, credential) => write(principal.id, TOOL_SERVER, { credential }),
    async assertMaySet(principal, url) {
      await bindable(principal, url);
    },
    async setToolServer(principal, url) {
      await write(principal.id, TOOL_SERVER, { credential: await bindable(principal, url), boundTo: url });
    },
    async toolServer(principal) {
      const known = await read(principal.id, TOOL_SERVER, stored);
      return known?.boundTo === undefined ? undefined : { url: known.boundTo, credential: known.credential };
    },
    servers: async (principal) => (await read(principal.id, MCP_SERVERS, storedServers)) ?? {},
  };
}
