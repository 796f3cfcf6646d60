import { spawnSync } from "node:child_process";
import { BELLJAR, compare, MIB, NEVER, scaled, summarise, time } from "../harness.mjs";
import { openServe } from "../mcp-client.mjs";

const BYTES = 10 * 1_000_000;
const AT_ONCE = 100;
const LOGIN = ["/bin/bash", "-l", "-c", "true"];

export const limitMs = 300_000;

/** E2B's own SDKs against `belljar serve`, beside the library on the same home. Nothing waits ready: each create makes a sandbox. */
export async function measure(home) {
  const env = { ...home.env, BELLJAR_POOL_SANDBOXES: "0", BELLJAR_POOL_PROGRAMS: "0" };
  const apiKey = makeKey(env);
  const server = await openServe(env);
  try {
    const { Sandbox } = await import("@e2b/code-interpreter");
    const options = { apiKey, apiUrl: server.origin, sandboxUrl: server.origin };
    const sandbox = await Sandbox.create(options);
    const library = await home.create();
    const rows = [
      await creates(home, Sandbox, options),
      await commands(library, sandbox),
      await code(sandbox),
      await files(library, sandbox),
      await together(Sandbox, options),
    ];
    await sandbox.kill();
    return rows;
  } finally {
    await server.close();
  }
}

function makeKey(env) {
  const scopes = ["surface:e2b", "network:all"].flatMap((scope) => ["--scope", scope]);
  return spawnSync(process.execPath, [BELLJAR, "token", "create", "bench", ...scopes], { env, encoding: "utf8" }).stdout.trim();
}

/** Timed without the kill that follows. */
async function creates(home, Sandbox, options) {
  const reference = () => createAndKill(() => home.create());
  const measured = () => createAndKill(() => Sandbox.create(options));
  const what = "Sandbox.create() of E2B's SDK";
  return { what, added: 6, beside: "create of the library", ...(await compare({ reference, measured, blocks: 6, each: 10 })) };
}

async function createAndKill(create) {
  let made;
  const took = await time(async () => (made = await create()));
  await made.kill();
  return took;
}

async function commands(library, sandbox) {
  const reference = async () => void (await library.guest.run({ argv: LOGIN, signal: NEVER }));
  const measured = async () => void (await sandbox.commands.run("true"));
  const what = "commands.run('true') of E2B's SDK";
  return {
    what,
    added: 4,
    beside: "the same exec by the library",
    ...(await compare({ reference, measured, blocks: 8, each: 20, settleMs: 0 })),
  };
}

async function code(sandbox) {
  await sandbox.runCode("1+1");
  const samples = [];
  for (let run = 0; run < scaled(200); run += 1) samples.push(await time(() => sandbox.runCode("1+1")));
  return { what: "runCode('1+1') of E2B's SDK, after the first", most: 8, measured: summarise(samples) };
}

async function files(library, sandbox) {
  const content = new Uint8Array(BYTES).fill(120).buffer;
  const maxBytes = 16 * MIB;
  const reference = async () => {
    await library.guest.files.write("file", new Uint8Array(content), { signal: NEVER });
    await library.guest.files.read("file", { signal: NEVER, maxBytes });
  };
  const measured = async () => {
    await sandbox.files.write("file", content);
    await sandbox.files.read("file", { format: "bytes" });
  };
  const what = "files.write + files.read of 10 MB of E2B's SDK";
  return { what, goal: 3, beside: "the same by the library", ...(await compare({ reference, measured, blocks: 6, each: 4 })) };
}

/** Each answers a command. */
async function together(Sandbox, options) {
  const made = [];
  const count = scaled(AT_ONCE);
  const took = await time(async () =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const sandbox = await Sandbox.create(options);
        made.push(sandbox);
        await sandbox.commands.run("true");
      }),
    ),
  );
  await Promise.all(made.map((sandbox) => sandbox.kill()));
  return { what: `${count} of Sandbox.create() at once, all answering`, most: 3_000, measured: summarise([took]) };
}
