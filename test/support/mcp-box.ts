import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import type { CliHome } from "./belljar-cli.ts";

export interface BoxAnswer {
  readonly status: number;
  readonly result: unknown;
  readonly error: unknown;
  readonly transport?: string;
  readonly mcp_box_url?: string;
}

export interface BoxRequest {
  readonly code?: string | Buffer;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `belljar serve` with a port for MCP Box's API. */
export interface BoxServer extends AsyncDisposable {
  readonly url: string;
  readonly admin: string;
}

export async function openBoxServer(cli: CliHome, ...more: readonly string[]): Promise<BoxServer> {
  const server = cli.start(["serve", "--port", "0", "--admin-port", "0", ...more]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const [, admin = ""] = await server.says(/Tools are added at (http:\/\/[^/]+)\//);
  return { url, admin, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** As a client of MCP Box asks. `fetch` refuses to set Host and Origin. */
export async function askBox(
  origin: string,
  route: "add_mcp_tool" | "remove_mcp_tool",
  name: string,
  { code, query = {}, headers = {} }: BoxRequest = {},
): Promise<BoxAnswer> {
  const url = new URL(`/${route}/?${new URLSearchParams({ mcp_tool_name: name, ...query }).toString()}`, origin);
  const type = code === undefined ? {} : { "content-type": "text/plain; charset=utf-8" };
  const sent = request(url, { method: "POST", headers: { ...type, ...headers }, agent: false });
  sent.end(code);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Omit<BoxAnswer, "status">;
  return { status: response.statusCode ?? 0, ...body };
}
