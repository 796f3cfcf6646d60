/** A Belljar server for the tools: one that runs already, or one of our own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Foreseen } from "./foreseen.mjs";

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
  throw new Foreseen("belljar serve ended before it served: its own lines above say why");
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
    if (result !== 0) throw new Foreseen(`${name} cannot be added: ${error}`);
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
  if (!URL.canParse(belljar)) throw new Foreseen(`${belljar} is no address of a server: give one such as http://127.0.0.1:6060`);
  const asked = new URL(`/${route}/?${new URLSearchParams(query)}`, belljar);
  const response = await fetch(asked, { method: "POST", headers, body: code }).catch((cause) => {
    throw new Foreseen(`No server answers at ${belljar}: start one with belljar serve, or leave out --belljar`, { cause });
  });
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) throw new Foreseen(`${belljar} refuses the token: put one that it knows into BELLJAR_TOKEN`);
  if (!response.ok) throw new Foreseen(`${belljar}: ${answer.error ?? `it is no Belljar, it answers ${response.status}`}`);
  if (typeof answer.result !== "number") throw new Foreseen(`${belljar} is no Belljar: its answer has another form`);
  return answer;
}
