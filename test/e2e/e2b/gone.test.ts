import { once } from "node:events";
import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import { request } from "node:http";
import { json } from "node:stream/consumers";
import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { encodeMessage } from "../../../src/gateway/e2b/envd/connect/envelope.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";
import { headersOf } from "../../support/e2b-sandbox.ts";

const CONNECT = { "content-type": "application/connect+json" };
const PATIENCE = { timeout: 30_000 };
const PORT = 8_000;
/** More than a connection and all between hold. */
const BIG_BYTES = 100_000_000;
const SERVER = `import http.server as h
class H(h.SimpleHTTPRequestHandler): pass
h.ThreadingHTTPServer(('', ${PORT}), H).serve_forever()`;

/** A request as no SDK would leave it. */
function ask(lab: E2bLab, sandbox: Sandbox, path: string, { headers, ...options }: RequestOptions = {}): ClientRequest {
  const sent = request(lab.url + path, { ...options, headers: { ...headersOf(sandbox), ...(headers as Record<string, string>) } });
  sent.on("error", () => undefined);
  return sent;
}

/** Resolves with the answer once its first bytes are there; nobody reads on. */
async function begun(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  await once(answer, "readable");
  return answer;
}

const watch = (lab: E2bLab, sandbox: Sandbox): ClientRequest =>
  ask(lab, sandbox, "/filesystem.Filesystem/WatchDir", { method: "POST", headers: CONNECT }).end(encodeMessage({ path: "/tmp" }));
const download = (lab: E2bLab, sandbox: Sandbox, headers = {}): ClientRequest => ask(lab, sandbox, "/files?path=big", { headers }).end();
/** Its second half is never sent. */
function upload(lab: E2bLab, sandbox: Sandbox): ClientRequest {
  const headers = { "content-type": "application/octet-stream", "content-length": String(2 * 65_536) };
  const sent = ask(lab, sandbox, "/files?path=up", { method: "POST", headers });
  sent.write(Buffer.alloc(65_536));
  return sent;
}
const throughPort = (lab: E2bLab, sandbox: Sandbox): ClientRequest =>
  ask(lab, sandbox, "/big", { headers: { "e2b-sandbox-port": String(PORT) } }).end();

async function makeBusy(lab: E2bLab): Promise<Sandbox> {
  const sandbox = await Sandbox.create(lab.options);
  await sandbox.commands.run(`truncate -s ${BIG_BYTES} big`);
  return sandbox;
}

/** Whether the answer came to its end, once its connection is closed. */
function isWhole(answer: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    answer.on("error", () => undefined).on("close", () => resolve(answer.complete));
    answer.resume();
  });
}

/** Each operation of the server's in a sandbox is a process there. */
async function countProcesses(sandbox: Sandbox): Promise<number> {
  const { stdout } = await sandbox.commands.run("set -- /proc/[0-9]*; echo $#");
  return Number(stdout);
}

it("lets go of what a client asked for that has gone", async () => {
  await using lab = await openE2bLab();
  const sandbox = await makeBusy(lab);
  const idle = await countProcesses(sandbox);
  for (const start of [watch, download]) {
    const sent = start(lab, sandbox);
    await begun(sent);
    expect(await countProcesses(sandbox)).toBeGreaterThan(idle);
    sent.destroy();
    await expect.poll(() => countProcesses(sandbox), PATIENCE).toBe(idle);
  }
  const sent = upload(lab, sandbox);
  await expect.poll(() => countProcesses(sandbox), PATIENCE).toBeGreaterThan(idle);
  sent.destroy();
  await expect.poll(() => countProcesses(sandbox), PATIENCE).toBe(idle);
  expect(await sandbox.files.exists("up")).toBe(false);
  // An owner has four places to pack in.
  for (let time = 0; time < 6; time += 1) {
    const packed = download(lab, sandbox, { "accept-encoding": "gzip" });
    expect((await begun(packed)).headers["content-encoding"]).toBe("gzip");
    packed.destroy();
    await expect.poll(() => countProcesses(sandbox), PATIENCE).toBe(idle);
  }
});

it("ends each request for files and ports with its sandbox, and tells later ones why", async () => {
  await using lab = await openE2bLab();
  const sandbox = await makeBusy(lab);
  await sandbox.commands.run(`python3 -c "${SERVER}"`, { background: true });
  await sandbox.commands.run(`until bash -c ': </dev/tcp/127.0.0.1/${PORT}' 2>/dev/null; do :; done`);
  const answers = await Promise.all([watch, download, throughPort].map((start) => begun(start(lab, sandbox))));
  const sending = upload(lab, sandbox);
  const uploaded = new Promise((resolve) =>
    sending.on("response", ({ statusCode }) => resolve(statusCode)).on("close", () => resolve("cut")),
  );
  const wereWhole = answers.map(isWhole);
  await sandbox.kill();
  expect([await Promise.all(wereWhole), await uploaded]).toEqual([[false, false, false], 502]);
  for (const start of [watch, download, upload, throughPort]) {
    const [answer] = (await once(start(lab, sandbox), "response")) as [IncomingMessage];
    expect([answer.statusCode, await json(answer)]).toMatchObject([502, { code: 502, sandboxId: sandbox.sandboxId }]);
  }
});
