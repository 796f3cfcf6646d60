/** A Belljar server for the tools: one that runs already, or one of our own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const CLI = resolve(import.meta.dirname, "../../bin/belljar.js");
const TOOLS = join(import.meta.dirname, "tools");
/** Where the tools' files say that the back end is. */
const BACK_END = "http://127.0.0.1:48000";

/** `belljar serve` with the ports of MCP Box. Resolves with where tools are added. */
export async function startBelljar(port, adminPort) {
  const argv = [CLI, "serve", "--port", port, "--admin-port", adminPort, "--sse"];
  // In a group of its own, so that Ctrl+C does not end it before the tools are removed.
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "inherit", "pipe"], detached: true });
  const exited = once(child, "exit");
  for await (const line of createInterface({ input: child.stderr })) {
    console.error(line);
    const [, url] = /^Tools are added at (http:\/\/[^/]+)\//.exec(line) ?? [];
    if (url === undefined) continue;
    child.stderr.pipe(process.stderr);
    return { url, stop: async () => (child.kill("SIGTERM"), await exited) };
  }
  throw new Error("belljar serve ended before it served");
}

/** Each tool may reach the back end, at its exact address, and nothing else. Resolves with the address of MCP. */
export async function addTools(belljar, backEnd) {
  let url;
  for (const file of toolFiles()) {
    const code = readFileSync(join(TOOLS, file), "utf8").replaceAll(BACK_END, backEnd);
    const name = file.slice(0, -".py".length);
    // One that an earlier run has left may know another address.
    await ask(belljar, "remove_mcp_tool", { mcp_tool_name: name });
    const { result, error, mcp_box_url } = await ask(belljar, "add_mcp_tool", { mcp_tool_name: name, network: new URL(backEnd).host }, code);
    if (result !== 0) throw new Error(`${name} cannot be added: ${error}`);
    url = mcp_box_url;
  }
  return url;
}

export async function removeTools(belljar) {
  for (const file of toolFiles()) await ask(belljar, "remove_mcp_tool", { mcp_tool_name: file.slice(0, -".py".length) });
}

const toolFiles = () => readdirSync(TOOLS).filter((name) => name.endsWith(".py"));

async function ask(belljar, route, query, code = "") {
  const token = process.env.BELLJAR_TOKEN;
  const headers = { "content-type": "text/plain; charset=utf-8", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(new URL(`/${route}/?${new URLSearchParams(query)}`, belljar), { method: "POST", headers, body: code });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${belljar}: ${answer.error}`);
  return answer;
}
