import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { NEVER, ROOT, compare, openOwnListeners } from "../harness.mjs";

const SERVER = join(ROOT, "bench/fixtures/page-server.mjs");
const PORT = 8000;

/** One GET of 1 KB after the other: to a server in a sandbox through a link, beside the same server on the host, asked straight. */
export async function measure(home) {
  const { openPortListener } = await import("../../dist/lib/network/ports/port-listener.js");
  const sandbox = await home.create();
  await sandbox.guest.files.write("server.mjs", readFileSync(SERVER), { signal: NEVER });
  const inside = await sandbox.guest.exec({ argv: ["node", "server.mjs", String(PORT)], stdin: false, signal: NEVER });
  inside.exited.catch(() => undefined);
  await once(inside.stdout, "data");
  const link = await sandbox.registerPort(PORT, "token");
  const find = async () => ({
    resume: async () => {},
    dial: (port, signal) => sandbox.guest.dial(port, signal),
    links: () => sandbox.portLinks(),
  });
  const listener = await openPortListener({ find, listeners: await openOwnListeners(home), onFailure: (error) => console.error(error) });
  const straight = spawn(process.execPath, [SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = await once(straight.stdout, "data");
  const agent = new Agent({ keepAlive: true });
  const headers = { host: `${PORT}-${sandbox.id}.localhost`, "belljar-port-token": link.token };
  const works = {
    reference: () => fetchPage({ agent, host: "127.0.0.1", port: Number(said) }),
    measured: () => fetchPage({ agent, host: "127.0.0.1", port: listener.origin.port, headers }),
  };
  const figures = await compare({ ...works, blocks: 10, each: 100, settleMs: 0 });
  agent.destroy();
  straight.kill();
  await listener[Symbol.asyncDispose]();
  return [{ what: "GET of 1 KB through a port link", beside: "the same server on the host, straight", added: 1, ...figures }];
}

async function fetchPage(options) {
  const [answer] = await once(get(options), "response");
  if (answer.statusCode !== 200) throw new Error(`The page answered ${answer.statusCode}`);
  answer.resume();
  await once(answer, "end");
}
