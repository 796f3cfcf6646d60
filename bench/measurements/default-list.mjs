import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BELLJAR } from "../harness.mjs";

const CHARACTERS_A_TOKEN = 4;

/** What the list of tools costs a context: how many, and their names, descriptions and input schemas, as a client is sent them. */
export async function measure(home) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BELLJAR, "mcp"], env: home.env, stderr: "inherit" }));
  const { tools } = await client.listTools();
  await client.close();
  const characters = tools.reduce(
    (sum, { name, description, inputSchema }) => sum + name.length + description.length + JSON.stringify(inputSchema).length,
    0,
  );
  const same = (figure) => ({ p50: figure, p95: figure, p99: figure });
  return [
    { what: "default list: tools", unit: "tools", measured: same(tools.length), most: 21 },
    { what: "default list: tokens", unit: "tokens", measured: same(characters / CHARACTERS_A_TOKEN), most: 4_700 },
  ];
}
