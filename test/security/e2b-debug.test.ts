import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { importE2bClient, installE2bClients } from "../support/e2b-clients.ts";
import { openE2bLab } from "../support/e2b-lab.ts";
import { verifies } from "./verifies.ts";

const [ENVD, INTERPRETER] = [49_983, 49_999];

/** The SDKs know these two ports alone. */
async function findTaken(): Promise<string | undefined> {
  for (const port of [ENVD, INTERPRETER]) {
    const server = createServer().listen({ host: "localhost", port });
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) return `something else listens at port ${port}`;
    server.close();
    await once(server, "close");
  }
  return undefined;
}

const taken = await findTaken();
const reason = taken ?? (await installE2bClients());

interface OldSandbox {
  readonly sandboxId: string;
  isRunning(): Promise<boolean>;
  runCode(code: string, options?: object): Promise<{ readonly text: string; readonly logs: { readonly stdout: readonly string[] } }>;
  createCodeContext(options: object): Promise<{ readonly id: string; readonly cwd: string }>;
}

async function openOldSandbox(): Promise<OldSandbox> {
  const { Sandbox } = (await importE2bClient("@e2b/code-interpreter/dist/index.mjs")) as {
    readonly Sandbox: { create(options: object): Promise<OldSandbox> };
  };
  return Sandbox.create({ debug: true, apiKey: "any" });
}

interface OldestSandbox {
  readonly commands: {
    run(command: string, options?: object): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
  };
  readonly files: { write(path: string, data: string): Promise<{ readonly path: string }>; read(path: string): Promise<string> };
}

/** `e2b` itself, which knows the sandbox's commands and files alone. */
async function checkOldest(): Promise<void> {
  const { Sandbox } = (await importE2bClient("e2b/dist/index.mjs")) as {
    readonly Sandbox: { create(options: object): Promise<OldestSandbox> };
  };
  const { commands, files } = await Sandbox.create({ debug: true, apiKey: "any" });
  const { path } = await files.write("below/note.txt", "smörgås");
  expect([path, await files.read(path)]).toEqual(["/home/user/below/note.txt", "smörgås"]);
  const ran = await commands.run("cat below/note.txt; echo $NAME >&2", { envs: { NAME: "asked" } });
  expect(ran).toMatchObject({ exitCode: 0, stdout: "smörgås", stderr: "asked\n" });
  await expect(commands.run("exit 3")).rejects.toMatchObject({ exitCode: 3 });
  await expect(files.read("missing")).rejects.toMatchObject({ name: "NotFoundError" });
}

interface Wish {
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly host?: string;
}

async function statusOf({ port, path, headers = {}, host = "127.0.0.1" }: Wish): Promise<number | undefined> {
  const asked = request({ host, port, path, method: path === "/execute" ? "POST" : "GET", headers });
  asked.end(path === "/execute" ? JSON.stringify({ code: "1" }) : undefined);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

const json = { "content-type": "application/json" };
const execute = { port: INTERPRETER, path: "/execute" };

verifies(
  "e2b-debug-local",
  async (context) => {
    if (taken !== undefined) context.skip(taken);
    for (const port of [ENVD, INTERPRETER])
      await expect(statusOf({ port, path: "/health" }), "off by default").rejects.toMatchObject({ code: "ECONNREFUSED" });
    await using _lab = await openE2bLab({ argv: ["--e2b-debug", "--host", "0.0.0.0"] });
    expect(await statusOf({ ...execute, headers: json })).toBe(200);
    const refused: readonly Wish[] = [
      { ...execute, headers: { ...json, origin: "http://evil.example" } },
      { ...execute, headers: { ...json, origin: "http://localhost:49999" } },
      { ...execute, headers: { ...json, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } },
      { ...execute, headers: { ...json, host: "evil.example" } },
      { ...execute, headers: { ...json, host: "49999-abc.localhost.evil.example" } },
      { port: ENVD, path: "/health", headers: { host: "evil.example" } },
      { port: ENVD, path: "/health", headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } },
    ];
    for (const wish of refused) expect(await statusOf(wish), JSON.stringify(wish.headers)).toBe(403);
    expect(await statusOf({ ...execute, headers: { "content-type": "text/plain" } }), "what a form can send").toBe(415);
    const outside = Object.values(networkInterfaces()).flatMap((all = []) =>
      all.filter(({ internal, family }) => !internal && family === "IPv4"),
    );
    for (const { address } of outside)
      await expect(statusOf({ ...execute, headers: json, host: address }), address).rejects.toMatchObject({ code: "ECONNREFUSED" });
  },
  60_000,
);

it.skipIf(reason !== undefined)(
  `serves the SDKs that run with E2B_DEBUG with one sandbox, which the next server has too${reason === undefined ? "" : ` (skipped: ${reason})`}`,
  { timeout: 60_000 },
  async () => {
    await using lab = await openE2bLab({ argv: ["--e2b-debug"] });
    const sandbox = await openOldSandbox();
    expect(await sandbox.isRunning()).toBe(true);
    const run = await sandbox.runCode("print('hello')\nx = 1\nx + 1");
    expect([run.text, run.logs.stdout, sandbox.sandboxId]).toEqual(["2", ["hello\n"], "debug_sandbox_id"]);
    const context = await sandbox.createCodeContext({ cwd: "/tmp", language: "python" });
    expect((await sandbox.runCode("import os; os.getcwd()", { context })).text).toBe("/tmp");
    expect((await (await openOldSandbox()).runCode("x")).text, "all have one sandbox").toBe("1");
    await checkOldest();
    await lab.restart();
    expect((await (await openOldSandbox()).runCode("x")).text).toBe("1");
  },
);
