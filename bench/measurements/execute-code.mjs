import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BELLJAR, PYTHON, compare } from "../harness.mjs";

const CALL = { name: "execute_code", arguments: { language: "python", entrypoint_code: "print(6 * 7)" } };

/** The main job as a host does it: the official client, `belljar mcp` over stdio, a fresh sandbox for each call. */
export async function measure(home) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BELLJAR, "mcp"], env: home.env, stderr: "inherit" }));
  const measured = async () => {
    const { content, isError } = await client.callTool(CALL);
    if (isError || !content[0].text.startsWith("--- stdout ---\n42\n")) throw new Error(`It answered ${JSON.stringify(content)}`);
  };
  const compared = await compare({ reference: PYTHON.run, measured, blocks: 5, each: 8 });
  await client.close();
  return [{ what: "execute_code python, end to end over stdio", beside: PYTHON.what, ...compared }];
}
