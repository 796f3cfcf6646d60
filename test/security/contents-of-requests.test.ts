import { expect } from "vitest";
import { mcpCases, openMcpSession } from "../support/hostile/mcp-cases.ts";
import { routeCases } from "../support/hostile/route-cases.ts";
import { lyingCases } from "../support/hostile/tool-cases.ts";
import { LIES, tellLie } from "../support/hostile/lying-programs.ts";
import { useHostileLab, walk, WALK_MS } from "../support/hostile/walk.ts";
import { verifies } from "./verifies.ts";

const lab = useHostileLab();

verifies(
  "contents-never-stall",
  async () => {
    const session = await openMcpSession(lab());
    expect(await walk(lab(), [session], () => mcpCases(lab(), session))).toEqual([]);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    expect(await walk(lab(), await lab().server.routes(), (route) => routeCases(lab(), route))).toEqual([]);
  },
  WALK_MS,
);

verifies(
  "contents-never-stall",
  async () => {
    const tools = await lab().tools();
    const found = await walk(lab(), Object.entries(LIES), async function* ([what, lie]) {
      // Each in a sandbox of its own, which is gone afterwards.
      const sandbox = await lab().createSandbox();
      await tellLie(lab().home, sandbox, lie);
      yield* lyingCases(lab(), tools, { sandbox, what });
    });
    expect(found).toEqual([]);
  },
  WALK_MS,
);
