import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { CallClient } from "../../src/catalog/question.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { type HubLab, hubServer, openHubLab } from "../support/hub-lab.ts";
import { textOf } from "../support/tools-lab.ts";
import { verifies } from "./verifies.ts";

const CODE = readFileSync(join(import.meta.dirname, "../fixtures/hub-relay-server.mjs"), "utf8");
const relayServer = { command: "node", args: ["--input-type=module", "-e", CODE], env: { NAME: "one", ERA: "legacy" }, session: "shared" };
const token = (name: string): Principal => ({ id: `token:${name}`, name, grants: { servers: ["one"] } });
const [ANN, BOB] = [token("ann"), token("bob")];

async function hang(lab: HubLab, principal: Principal) {
  const controller = new AbortController();
  let begun = (): void => undefined;
  const begins = new Promise<void>((resolve) => (begun = resolve));
  const call = lab.call("mcp_one_hang", {}, { principal, clientId: principal.id, signal: controller.signal, progress: () => begun() });
  await begins;
  return async (): Promise<void> => {
    controller.abort();
    await call;
  };
}

/** Two callers of one instance. */
verifies(
  "hub-tells-its-caller",
  async () => {
    await using lab = await openHubLab({ one: relayServer });
    await lab.until(() => lab.names().length > 0);
    const asked: string[] = [];
    const heard: string[] = [];
    const askOf =
      (name: string): CallClient["ask"] =>
      async () => (asked.push(name), { action: "accept", content: { which: name } });
    const as = (principal: Principal) => ({
      principal,
      clientId: principal.id,
      ask: askOf(principal.name),
      log: (_level: unknown, data: unknown) => void heard.push(`${principal.name} ${JSON.stringify(data)}`),
    });
    await lab.call("mcp_one_log", {}, as(ANN));
    expect(textOf(await lab.call("mcp_one_ask", {}, as(ANN)))).toContain('"which":"ann"');
    expect([asked, heard], "of the one who has called").toEqual([["ann"], ['ann {"at":1}']]);
    expect(textOf(await lab.call("mcp_one_ask", {}, as(BOB)))).toContain('"which":"bob"');
    await lab.call("mcp_one_log", {}, as(BOB));
    expect(heard, "it could be of Ann's call").toHaveLength(1);
    const cancel = await hang(lab, BOB);
    expect(textOf(await lab.call("mcp_one_ask", {}, as(ANN))), "it could be of Bob's call").toContain("several calls at once");
    await cancel();
    expect(textOf(await lab.call("mcp_one_ask", {}, as(ANN))), "it could be of the call that Bob gave up").toContain("Nobody can be asked");
    expect(asked).toEqual(["ann", "bob"]);
  },
  120_000,
);

verifies(
  "callers-share-servers",
  async () => {
    await using lab = await openHubLab({ one: hubServer({ session: "shared" }) }, { concurrency: 2, queue: 8 });
    await lab.until(() => lab.names().length > 0);
    const count = (principal: Principal) => lab.call("mcp_one_count", {}, { principal, clientId: principal.id });
    const full = [await hang(lab, LOCAL), await hang(lab, LOCAL)];
    let isAnswered = false;
    const waits = count(BOB).then((answer) => ((isAnswered = true), answer));
    const controller = new AbortController();
    const leaving = lab.call("mcp_one_count", {}, { principal: ANN, clientId: "leaving", signal: controller.signal });
    controller.abort();
    await leaving;
    expect(isAnswered, "who has all places keeps the others waiting").toBe(false);
    for (const cancel of full) await cancel();
    expect(textOf(await waits)).toBe("1");
    const first = await hang(lab, ANN);
    const second = hang(lab, ANN);
    for (const expected of ["2", "3", "4"]) expect(textOf(await count(BOB)), "Ann has her half").toBe(expected);
    await first();
    await (
      await second
    )();
  },
  120_000,
);
