import { afterAll, beforeAll, expect } from "vitest";
import type { HostileCase, HostileLab } from "../support/hostile/hostile-lab.ts";
import { openHostileLab } from "../support/hostile/hostile-lab.ts";
import { LIES, tellLie } from "../support/hostile/lying-programs.ts";
import { mcpCases, openMcpSession } from "../support/hostile/mcp-cases.ts";
import { routeCases } from "../support/hostile/route-cases.ts";
import { lyingCases, toolCases } from "../support/hostile/tool-cases.ts";
import { openWatchedServer } from "../support/hostile/watched-server.ts";
import { openTestHome } from "../support/served-home.ts";
import { verifies } from "./verifies.ts";

/** Far beyond what a walk takes: a server that is held up is given the time to show it in every case. */
const WALK_MS = 1_800_000;

let lab: HostileLab;
beforeAll(async () => {
  lab = await openHostileLab();
}, WALK_MS);
afterAll(() => lab?.[Symbol.asyncDispose](), WALK_MS);

/** What the walk of each thing found. One that drives nothing fails. */
async function walk<Thing>(things: Iterable<Thing>, casesOf: (thing: Thing) => Iterable<HostileCase> | AsyncIterable<HostileCase>) {
  const found: string[] = [];
  for (const thing of things) {
    const { driven, failures } = await lab.drive(casesOf(thing));
    expect(driven, String(thing)).toBeGreaterThan(0);
    found.push(...failures);
    await lab.restore();
  }
  return found;
}

verifies(
  "contents-never-stall",
  async () => {
    await using home = await openTestHome();
    await using careless = await openWatchedServer(home, { import: [import.meta.resolve("../fixtures/careless.mjs")] });
    const ask = (): Promise<unknown> => fetch(`${careless.url}/health?${"a".repeat(8_000)}`);
    const measured = await careless.measure(async () => void (await ask()));
    expect(measured.stalledMs).toBeGreaterThan(200);
    expect(measured.grownBytes).toBeGreaterThan(200 * 1_048_576);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    const tools = await lab.tools();
    expect(await walk(tools, (tool) => toolCases(lab, tool))).toEqual([]);
    expect(tools.map(({ name }) => name).filter((name) => !lab.workedTools.has(name))).toEqual([]);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    const session = await openMcpSession(lab);
    expect(await walk([session], () => mcpCases(lab, session))).toEqual([]);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    expect(await walk(await lab.server.routes(), (route) => routeCases(lab, route))).toEqual([]);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    const tools = await lab.tools();
    const found = await walk(Object.entries(LIES), async function* ([what, lie]) {
      // Each in a sandbox of its own, which is gone afterwards.
      const sandbox = await lab.createSandbox();
      await tellLie(lab.home, sandbox, lie);
      yield* lyingCases(lab, tools, { sandbox, what });
    });
    expect(found).toEqual([]);
  },
  WALK_MS,
);
