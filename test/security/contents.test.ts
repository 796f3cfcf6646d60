import { expect } from "vitest";
import { toolCases } from "../support/hostile/tool-cases.ts";
import { useHostileLab, walk, WALK_MS } from "../support/hostile/walk.ts";
import { openWatchedServer } from "../support/hostile/watched-server.ts";
import { openTestHome } from "../support/served-home.ts";
import { verifies } from "./verifies.ts";

const lab = useHostileLab();

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
    const tools = await lab().tools();
    expect(await walk(lab(), tools, (tool) => toolCases(lab(), tool))).toEqual([]);
    expect(tools.map(({ name }) => name).filter((name) => !lab().workedTools.has(name))).toEqual([]);
  },
  WALK_MS,
);
