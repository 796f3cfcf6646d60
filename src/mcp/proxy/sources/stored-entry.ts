import { isRecord } from "../../client/config/is-record.ts";
import { readEntry } from "../../client/config/read-entry.ts";
import { type HubScope, readHubServer } from "../hub-file.ts";
import type { HubServer } from "../hub-server.ts";
import { forbiddenField } from "./may-have.ts";
import type { StoredServer } from "./server-store.ts";

/** Stands for nothing: no variable, no folder and no file of the host. */
const NOTHING: HubScope = { env: {}, workspaceFolder: "/", userHome: "/", inputs: new Map(), lookOnHost: () => undefined };
const FILE = "mcpServers";
/** They read variables or files of the machine that Belljar runs on. */
const READS_HOST = ["envFile", "env_vars", "env_http_headers", "bearer_token_env_var"];
/** In an argument `${X}` is a text: a shell inside may read it. Here it would be sent as it stands, which nobody means. */
const VALUES = ["command", "env", "environment", "headers", "http_headers", "auth", "oauth", "url", "httpUrl", "serverUrl", "cwd"];

/**
 * Reads a server that an owner has added. Undefined for a disabled one. What came over the network may say nothing that reaches the host, whatever
 * wrote it to the file. Rejects with `CONFIG_INVALID` and `FORBIDDEN`.
 */
export async function readStoredServer(
  name: string,
  { entry, origin }: Pick<StoredServer, "entry" | "origin">,
  scope: HubScope,
): Promise<HubServer | undefined> {
  const isOfNetwork = origin === "network";
  const place = { file: FILE, name, expands: !isOfNetwork };
  const config = readEntry(entry, place);
  if (isOfNetwork) assertReachesNoHost(name, entry);
  const server = await readHubServer({ name, config }, entry, { file: FILE, scope: isOfNetwork ? NOTHING : scope });
  if (!server || !isOfNetwork) return server;
  assertReadsNoSecret(server);
  return { ...server, isOfNetwork };
}

/** Throws `FORBIDDEN` for a server that gets the value of a secret. A placeholder it may have, as every sandbox that is made over HTTP. */
function assertReadsNoSecret({ name, settings: { secrets = {} } }: HubServer): void {
  const raw = Object.entries(secrets).find(([, { hosts }]) => hosts === undefined);
  if (!raw) return;
  const advice = "name the hosts that it is for, or use `belljar server add` at the machine";
  throw forbiddenField(name, `secrets.${raw[0]}`, `over HTTP no server gets the value of a secret: ${advice}`);
}

/** Throws `FORBIDDEN`. What is allowed here is read without any fact of the host. */
function assertReachesNoHost(name: string, entry: StoredServer["entry"]): void {
  if (Object.hasOwn(entry, "isolation") && entry["isolation"] !== "sandbox")
    throw forbiddenField(
      name,
      "isolation",
      "over HTTP a server runs in a sandbox, for everybody; at the machine use `belljar server add` without BELLJAR_URL",
    );
  const reading = READS_HOST.find((field) => Object.hasOwn(entry, field));
  if (reading !== undefined)
    throw forbiddenField(name, reading, "what is on the server's machine is never read over HTTP: write the value");
  const named = VALUES.find((field) => Object.hasOwn(entry, field) && textsOf(entry[field]).some((text) => text.includes("${")));
  if (named !== undefined) throw forbiddenField(name, named, "${...} is never read over HTTP: write the value");
}

function textsOf(value: unknown): readonly string[] {
  // A command may have its arguments behind it.
  const values = isRecord(value) ? Object.values(value) : [Array.isArray(value) ? (value[0] as unknown) : value];
  return values.filter((one) => typeof one === "string");
}
