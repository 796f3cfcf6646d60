import { spawn } from "node:child_process";
import { once } from "node:events";
import { BELLJAR, compare, spawnPlain } from "../harness.mjs";
import { openClient, openToolServer } from "../mcp-client.mjs";

const TRUE = { name: "run_command", arguments: { command: "true" } };

/** A command in a live sandbox through `belljar serve`, beside a call of the bare SDK server and then the same command on this machine. */
export async function measure({ env }) {
  const bare = await openToolServer("bare");
  const serving = await openServe(env);
  let id = 0;
  try {
    const run = () => serving.client.post("tools/call", TRUE, (id += 1));
    const call = async () => {
      await bare.callAll(1, 1);
      await spawnPlain("/bin/bash", ["-c", "true"], { stdout: "pipe" });
    };
    const compared = await compare({ reference: call, measured: run, blocks: 6, each: 30 });
    return [{ what: "run_command true over HTTP", added: 1.5, beside: "a call of the bare SDK server + bash -c true", ...compared }];
  } finally {
    await serving.close();
    await bare.close();
  }
}

async function openServe(env) {
  const child = spawn(process.execPath, [BELLJAR, "serve", "--port", "0"], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  while (!/MCP at \S+\/mcp/.test(said)) {
    const [chunk] = await once(child.stderr, "data");
    said += chunk;
  }
  child.stderr.resume();
  const client = openClient(/MCP at (\S+)\/mcp/.exec(said)[1]);
  return {
    client,
    async close() {
      client.close();
      child.kill();
      await once(child, "exit");
    },
  };
}
