import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BELLJAR, NEVER, scaled, summarise, time } from "../harness.mjs";

const EACH = 300;
const SUM = { code: "1+1" };

/** `1+1` in a context that lives, through the library and as a host asks for it. */
export async function measure(home) {
  return [
    { what: "1+1 in a live Python context, through the library", most: 1.5, measured: await throughLibrary(home, "python") },
    { what: "1+1 in a live JavaScript context, through the library", measured: await throughLibrary(home, "javascript") },
    { what: "1+1 in a live Python context, through MCP over stdio", most: 4, measured: await throughStdio(home) },
  ];
}

async function throughLibrary(home, language) {
  const { runCode } = await import("../../dist/lib/index.js");
  const sandbox = await home.create();
  const measured = await sample(async () => {
    const { values } = await runCode(sandbox, { ...SUM, language, timeoutMs: 60_000, signal: NEVER, maxOutputBytes: 1_000_000 });
    if (values[0]?.data["text/plain"] !== "2") throw new Error(`${language} answered ${JSON.stringify(values)}`);
  });
  await sandbox.kill();
  return measured;
}

async function throughStdio({ env, folder }) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BELLJAR, "mcp"], env, cwd: folder, stderr: "ignore" }));
  try {
    return await sample(async () => {
      const { content } = await client.callTool({ name: "run_code", arguments: SUM });
      if (!content.at(-1)?.text.startsWith("2\n")) throw new Error(`run_code answered ${JSON.stringify(content)}`);
    });
  } finally {
    await client.close();
  }
}

/** The first run starts the interpreter, and is not measured. */
async function sample(work) {
  await work();
  const samples = [];
  for (let run = 0; run < scaled(EACH); run += 1) samples.push(await time(work));
  return summarise(samples);
}
