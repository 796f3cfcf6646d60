import { join } from "node:path";
import { expect } from "vitest";
import { Browsers } from "../../src/browser/browsers.ts";
import { BelljarError } from "../../src/errors.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { LIES, replaceGuest } from "../support/freeze.ts";
import { ARGUMENTS, sampleOf, type Schema } from "../support/sample-arguments.ts";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { useLab } from "./support/lab.ts";
import { verifies } from "./verifies.ts";
import { byName } from "../support/by-name.ts";
import { runName } from "../support/run-of.ts";

const lab = useLab();
const NEVER = new AbortController().signal;
/** Says what the home knows, or freezes files without the guest, and asks nobody. */
const NOT_ASKED: ReadonlySet<string> = new Set(["sandbox_network", "sandbox", "sandbox_checkpoint", "sandbox_log", "sandbox_snapshot"]);
/** These end the sandbox, or make another one. */
const NOT_CALLED: ReadonlySet<string> = new Set(["sandbox_kill", "sandbox_fork"]);
/** What a tool says that needs more than its sample to get as far as the guest. */
const NEEDS_MORE =
  /^(ARGUMENTS_INVALID|NOT_SUPPORTED|(PROCESS|RESULT|TOOL|SANDBOX|CHECKPOINT|SNAPSHOT)_NOT_FOUND|LANGUAGE_UNAVAILABLE|PATH_INVALID)/;

verifies(
  "silence-bounded",
  async () => {
    await using browsers = new Browsers({ idleMs: 600_000 });
    await using caller = await openToolCaller({ home: { runtimes: byName(lab.runtime) }, browsers });
    const { id } = await caller.sandboxes.create(LOCAL, {}, AbortSignal.timeout(60_000));
    const tools = caller.catalog.listAll(LOCAL).filter(({ inputSchema }) => sandboxArgument(inputSchema as Schema) !== undefined);
    const call = async (tool: (typeof tools)[number]): Promise<string> => {
      const schema = tool.inputSchema as Schema;
      const args = { ...(sampleOf(schema) as object), ...ARGUMENTS[tool.name], [sandboxArgument(schema) ?? ""]: id };
      return caller
        .call(tool.name, args, { signal: NEVER })
        .then(textOf, (cause: unknown) => (cause instanceof BelljarError ? cause.code : String(cause)));
    };
    await using _liar = await replaceGuest(join(lab.home, "../run", runName(id)), LIES["answers half a frame and stops"]);
    const said = new Map(
      await Promise.all(tools.filter(({ name }) => !NOT_CALLED.has(name)).map(async (tool) => [tool.name, await call(tool)] as const)),
    );
    const silent = [...said].filter(([, text]) => text.startsWith("SANDBOX_UNRESPONSIVE")).map(([name]) => name);
    expect(
      Object.fromEntries([...said].filter(([name, text]) => !silent.includes(name) && !NOT_ASKED.has(name) && !NEEDS_MORE.test(text))),
    ).toEqual({});
    expect(silent.length).toBeGreaterThan(25);
    const kill = tools.find(({ name }) => name === "sandbox_kill");
    expect(kill && (await call(kill))).toBe('{"ok":true}');
    expect((await caller.sandboxes.info(LOCAL, id)).state).toBe("ended");
  },
  180_000,
);

function sandboxArgument({ properties = {} }: Schema): string | undefined {
  return ["sandbox", "id"].find((name) => Object.hasOwn(properties, name));
}
