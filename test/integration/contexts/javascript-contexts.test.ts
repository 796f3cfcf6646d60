import { describe, expect, it } from "vitest";
import { shareContexts, soon, streamsOf } from "../../support/context-lab.ts";

const contexts = shareContexts("javascript");
const { run } = contexts;

describe("a JavaScript context", () => {
  it("keeps variables, functions and its folder, and gives the last value", async () => {
    const first = await run("const x = 40; let y = 1; class A { b() { return x } }\nprocess.chdir('/tmp'); console.log('hej')");
    expect(first).toMatchObject({ isFresh: true, executionCount: 1, contextId: "javascript", error: undefined });
    const next = await run("const x = await Promise.resolve(41); console.error(process.cwd()); ({ sum: x + y, old: new A().b() })");
    expect(streamsOf(next)).toEqual(["", "/tmp\n"]);
    expect(next.values[0]?.data["text/plain"]).toBe("{ sum: 42, old: 41 }");
  });

  it("tells an error, and goes on", async () => {
    expect((await run("function f() { null.x }\nf()")).error).toMatchObject({ name: "TypeError" });
    expect((await run("syntax error here")).error).toMatchObject({ name: "SyntaxError" });
    expect((await run("y")).values[0]?.data["text/plain"]).toBe("1");
  });

  it("keeps its variables when its code is interrupted, in a loop and while it waits", async () => {
    for (const code of ["for (;;);", "await new Promise(() => setTimeout(() => {}, 1e6))"]) {
      const late = await run(code, { timeoutMs: 300 });
      expect([late.timedOut, late.lost, late.error?.name]).toEqual([true, undefined, "KeyboardInterrupt"]);
      expect((await run("y", {}, await contexts.beside())).values[0]?.data["text/plain"]).toBe("1");
    }
  });

  it("says how it ended, and starts again", async () => {
    expect((await run("process.exit(3)")).lost?.exit?.exitCode).toBe(3);
    expect((await run("typeof y")).values[0]?.data["text/plain"]).toBe("'undefined'");
  });

  it("goes on after a stream that was cut in the middle", async () => {
    await run("var kept = 7");
    const cut = await contexts.sandbox().guest.attach("context-javascript", soon());
    cut.channels[0]?.write(
      `\n${JSON.stringify({ run: "0".repeat(32), code: "for (;;);", language: "javascript", env: {} })}\n{"run": "half`,
    );
    await cut[Symbol.asyncDispose]();
    expect((await run("kept")).values[0]?.data["text/plain"]).toBe("7");
  });
});

describe("a TypeScript context", () => {
  it("is one of its own, and takes types", async () => {
    const result = await run("interface P { n: number }\nconst p: P = { n: 2 };\nenum E { A = 5 }\np.n + (E.A as number)", {
      language: "ts",
    });
    expect(result).toMatchObject({ contextId: "typescript", error: undefined });
    expect(result.values[0]?.data["text/plain"]).toBe("7");
    expect((await run("p.n", { language: "typescript" })).values[0]?.data["text/plain"]).toBe("2");
    expect((await run("typeof p")).values[0]?.data["text/plain"]).toBe("'undefined'");
  });
});
