import { afterAll, beforeAll, expect } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { E2bPortsLab } from "../support/e2b-ports-lab.ts";
import { openE2bPortsLab } from "../support/e2b-ports-lab.ts";
import { verifies } from "./verifies.ts";

let lab: E2bPortsLab;
let own: Sandbox;
let other: Sandbox;

beforeAll(async () => {
  lab = await openE2bPortsLab();
  [own, other] = await Promise.all([lab.make(), lab.make()]);
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

const named = ({ id }: Pick<Sandbox, "id">) => ({ "e2b-sandbox-id": id, "e2b-sandbox-port": "49983" });
const startOf = (script: string) => ({ process: { cmd: "/bin/sh", args: ["-c", script] } });
const OTHERS_PID = { process: { pid: 1 } };

/** Of process.Process, as envd's clients call it: streams have a frame around their message. */
async function call(way: string, message: object, headers: Readonly<Record<string, string>>): Promise<string> {
  const isStream = way === "Start" || way === "Connect";
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(isStream ? 5 : 0);
  if (isStream) head.writeUInt32BE(json.length, 1);
  const type = isStream ? "application/connect+json" : "application/json";
  const answer = await fetch(new URL(`/process.Process/${way}`, lab.origin), {
    method: "POST",
    headers: { "content-type": type, "connect-protocol-version": "1", ...headers },
    body: Buffer.concat([head, json]),
  });
  return `${answer.status} ${await answer.text()}`;
}

const READ = { signal: AbortSignal.timeout(60_000) };
const wasRun = (sandbox: Sandbox) =>
  sandbox.guest.files
    .stat("/home/user/ran", READ)
    .then(() => true)
    .catch(() => false);

verifies("e2b-processes-need-their-token", async () => {
  const start = startOf("touch /home/user/ran");
  const access = lab.tokens.of("access", own.id);
  const nobody = { id: "a".repeat(20) };
  const wrong: readonly Readonly<Record<string, string>>[] = [
    named(own),
    { ...named(own), "x-access-token": lab.tokens.of("access", other.id) },
    { ...named(own), "x-access-token": lab.tokens.of("traffic", own.id) },
    { ...named(own), "e2b-traffic-access-token": lab.tokens.of("traffic", own.id) },
    { ...named(own), "x-access-token": `${access.slice(0, -1)}${access.endsWith("A") ? "B" : "A"}` },
    { ...named(own), authorization: "Basic cm9vdDo=" },
    { ...named(nobody), "x-access-token": access },
    { ...named(other), "x-access-token": access },
  ];
  const calls = [
    ["Start", start],
    ["Connect", OTHERS_PID],
    ["List", {}],
    ["SendSignal", { ...OTHERS_PID, signal: "SIGNAL_SIGKILL" }],
  ] as const;
  for (const headers of wrong)
    for (const [way, message] of calls) expect(await call(way, message, headers), `${way} ${JSON.stringify(headers)}`).toMatch(/^401 /);
  expect([await wasRun(own), await wasRun(other)]).toEqual([false, false]);

  // The same requests with the sandbox's own token run: in that sandbox alone.
  expect(await call("Start", start, { ...named(own), "x-access-token": access })).toMatch(/^200 .*"exitCode"|"exited":true/s);
  expect([await wasRun(own), await wasRun(other)]).toEqual([true, false]);
});
