import { expect, it } from "vitest";
import { openToolsLab, textOf, type ToolsLab } from "../../support/tools-lab.ts";
import { until } from "../../support/until.ts";

/** Resolves once a sandbox waits. */
const ready = ({ sandboxes }: ToolsLab): Promise<void> => until(() => sandboxes.poolCounts()[0]?.ready === 1);

const taken = ({ sandboxes }: ToolsLab): number => sandboxes.poolCounts()[0]?.taken ?? 0;
/** `main.py`, which is not there, is what a Python that waits was started for. */
const STARTED = "    import sys, os\n    return [sys.orig_argv[-1].rsplit('/')[-1], os.path.exists('main.py')]\n";

it("a call finds a sandbox that waits, and its Python", async () => {
  await using lab = await openToolsLab({ waiting: 1 });
  await ready(lab);
  await lab.add(`@mcp.tool\ndef started():\n${STARTED}`);
  expect(taken(lab)).toBe(1);
  await ready(lab);
  expect(JSON.parse(textOf(await lab.call("started")))).toEqual(["main.py", false]);
  expect(taken(lab)).toBe(2);
});

it("a call of another language ends the Python that waits", async () => {
  await using lab = await openToolsLab({ waiting: 1 });
  await ready(lab);
  const count = `#!/bin/bash
# ---
# { "description": "How many Pythons there are" }
# ---
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'python[3] main' || true
`;
  await lab.add(count, { name: "pythons", language: "shell" });
  await ready(lab);
  expect(textOf(await lab.call("pythons")).trim()).toBe("0");
  expect(taken(lab)).toBe(1);
});
