import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { readFile } from "node:fs/promises";
import type { CliHome } from "./belljar-cli.ts";
import { SITE_PROGRAM } from "./browser-site.ts";

/** Where a sandbox has the site of hard cases. */
export const SITE = "http://127.0.0.1:8123";

export interface ToolAnswer {
  readonly text: string;
  readonly picture?: Buffer;
  readonly isError: boolean;
}

export async function createToken(cli: CliHome, name: string, scopes: readonly string[]): Promise<string> {
  const { stdout } = await cli.run(["token", "create", name, ...scopes.flatMap((scope) => ["--scope", scope])]);
  return stdout.trim();
}

/** A model's client. A legacy one has a session. */
export async function connectModel(url: string, token: string, mode: "auto" | "legacy" = "auto"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers } }));
  return client;
}

export async function useTool(client: Client, name: string, args: object = {}): Promise<ToolAnswer> {
  const { content, isError } = await client.callTool({ name, arguments: { ...args } }, { timeout: 60_000 });
  const parts = content as { type: string; text?: string; data?: string }[];
  const picture = parts.find(({ type }) => type === "image")?.data;
  const text = parts.map((part) => part.text ?? "").join("\n");
  return { text, isError: isError === true, ...(picture !== undefined && { picture: Buffer.from(picture, "base64") }) };
}

/** Starts the site in the client's sandbox, or in the one that is named. */
export async function startSite(client: Client, sandbox: { readonly sandbox?: string } = {}): Promise<void> {
  await useTool(client, "write_file", { path: "server.mjs", content: await readFile(SITE_PROGRAM, "utf8"), ...sandbox });
  const command = "rm -f started; node server.mjs 8123 > started & until grep -q http started; do sleep 0.05; done";
  await useTool(client, "run_command", { command, ...sandbox });
}

/** The reference of the first line of a snapshot with this in it. */
export function refIn(text: string, start: string): string {
  const line = text.split("\n").find((one) => one.includes(start));
  return /\[(e\d+)\]$/.exec(line ?? "")?.[1] ?? `no line with ${start} in:\n${text}`;
}
