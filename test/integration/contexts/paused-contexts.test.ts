import { expect, it } from "vitest";
import { shareContexts, soon } from "../../support/context-lab.ts";

const isRoot = process.getuid?.() === 0;
const contexts = shareContexts("python");
const { run } = contexts;
const LONG = "import time\nprint('begun', flush=True)\ntime.sleep(600)";

it.skipIf(!isRoot)("does not wake a paused sandbox for a caller that goes (skipped for an ordinary user, who has no freezer)", async () => {
  await run("kept = 1");
  for (const how of ["the caller goes", "its time is over"] as const) {
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => (begun = resolve));
    const caller = new AbortController();
    const running = run(LONG, { onOutput: () => begun(), signal: caller.signal, ...(how === "its time is over" && { timeoutMs: 4_000 }) });
    const given = expect(running).rejects.toMatchObject(how === "the caller goes" ? { message: "gone" } : { code: "SANDBOX_PAUSED" });
    await isBegun;
    await contexts.sandbox().pause();
    if (how === "the caller goes") caller.abort(new Error("gone"));
    await given;
    expect((await contexts.sandbox().usage()).phase, how).toBe("paused");
    await contexts.sandbox().resume();
    // The code was interrupted, and its context was not ended.
    expect((await run("kept", { signal: soon() })).values[0]?.data["text/plain"]).toBe("1");
  }
});
