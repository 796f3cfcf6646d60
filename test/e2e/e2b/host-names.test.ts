import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { SITE } from "../../support/e2b-ports-lab.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/e2b");
const DOMAIN = "e2b.localhost";

/** The fixture's program, with nothing but what its environment says. */
function startProgram(lab: E2bLab, env: Record<string, string>, argv: readonly string[] = []) {
  const own = { PATH: process.env["PATH"] ?? "", E2B_API_KEY: lab.key, NODE_OPTIONS: `--require ${join(FIXTURES, "localhost-names.cjs")}` };
  const stdio: ["pipe", "pipe", "inherit"] = ["pipe", "pipe", "inherit"];
  const child = spawn(process.execPath, [join(FIXTURES, "host-names.mjs"), ...argv], { env: { ...own, ...env }, stdio });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async says(): Promise<Record<string, unknown>> {
      const { value, done } = await lines.next();
      if (done) throw new Error("The program ended");
      return JSON.parse(value) as Record<string, unknown>;
    },
    goOn: () => void child.stdin.write("\n"),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** Runs the program until its end, with a web server in its sandbox. */
async function follow(lab: E2bLab, env: Record<string, string>, argv?: readonly string[]) {
  await using program = startProgram(lab, env, argv);
  const made = await program.says();
  const { stdout } = await lab.cli.run(["token", "create", "agent"]);
  const asOwner = { BELLJAR_URL: lab.url, BELLJAR_TOKEN: stdout.trim() };
  await using site = lab.cli.start(["exec", String(made["id"]), "--", "node", "-e", SITE, "8000"], { env: asOwner });
  await site.prints(/ready/);
  program.goOn();
  return [made, await program.says(), await program.says()];
}

it("leads to ports of sandboxes by getHost, plainly and by TLS", async () => {
  await using lab = await openE2bLab({ argv: ["--tls-domain", DOMAIN] });
  const { port } = new URL(lab.url);
  const byDomain = { E2B_DOMAIN: `${DOMAIN}:${port}`, NODE_EXTRA_CA_CERTS: join(lab.cli.home, "tls", DOMAIN, "ca.pem") };
  const [made, served, killed] = await follow(lab, byDomain);
  const id = String(made?.["id"]);
  const host = `8000-${id}.${DOMAIN}:${port}`;
  expect(made).toMatchObject({ host, isRunning: true, closed: [502, { sandboxId: id, port: 8_000, code: 502 }] });
  const seen = { url: "/sandboxes?a=b", headers: { host, "x-forwarded-proto": "https" } };
  expect(served).toMatchObject({ asked: [200, seen], greeting: `hello ${host}`, again: host });
  expect(JSON.stringify(served)).not.toContain(lab.key);
  expect(killed).toMatchObject({ isRunning: false, dead: [502, { sandboxId: id, message: "The sandbox was not found", code: 502 }] });
});

it("leads to them without TLS where the server has no domain", async () => {
  await using lab = await openE2bLab();
  const [made, served, killed] = await follow(lab, {}, [lab.url]);
  const id = String(made?.["id"]);
  const host = `8000-${id}.localhost:${new URL(lab.url).port}`;
  expect(made).toMatchObject({ host, isRunning: true, closed: [502, { sandboxId: id, port: 8_000, code: 502 }] });
  const asked = [200, { url: "/sandboxes?a=b", headers: { host, "x-forwarded-proto": "http" } }];
  expect(served).toMatchObject({ asked, greeting: `hello ${host}`, again: host });
  expect(killed).toMatchObject({ isRunning: false, dead: [502, { sandboxId: id, code: 502 }] });
});
