import { compare, spawnPlain } from "../harness.mjs";
import { openServe, openToolServer } from "../mcp-client.mjs";

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
