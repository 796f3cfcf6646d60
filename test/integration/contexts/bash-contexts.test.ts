import { describe, expect, it } from "vitest";
import type { CodeResult } from "../../../src/interpreter/lasting/contexts.ts";
import { createContext, interruptContext, listContexts, removeContext, restartContext } from "../../../src/interpreter/lasting/contexts.ts";
import { shareContexts, soon, streamsOf } from "../../support/context-lab.ts";

const contexts = shareContexts("bash");
const { run } = contexts;
const printed = (result: CodeResult): string => streamsOf(result)[0];

describe("a bash context", () => {
  it("keeps variables, functions and its folder between runs, and gives the exit code of the last command", async () => {
    const first = await run('x=1; f() { echo "f $x"; }; cd /tmp; declare -A map=([a]=b)\nfalse');
    expect(first).toMatchObject({ contextId: "bash", isFresh: true, exitCode: 1, lost: undefined, timedOut: false });
    const second = await run('f; pwd; echo "${map[a]}" >&2');
    expect([second.isFresh, second.exitCode, printed(second), second.windows.stderr.text()]).toEqual([false, 0, "f 1\n/tmp\n", "b\n"]);
  });

  it("takes code as it stands", async () => {
    const code = `cat <<'EOF'\na'b"c\\n$HOME \`x\` %s é\t!\nEOF\nprintf '%s|' "" 'a  b' ; if true\nthen echo multi; fi # end`;
    expect(printed(await run(code))).toBe("a'b\"c\\n$HOME `x` %s é\t!\n|a  b|multi\n");
    expect(await run("")).toMatchObject({ exitCode: 0 });
  });

  it("has the variables of a run for that run alone", async () => {
    await run("export KEPT=kept; PLAIN=plain");
    const env = { KEPT: "other", PLAIN: "it's $HOME", NEW: "" };
    expect(printed(await run('env | grep -E "^(KEPT|PLAIN|NEW)=" | sort', { env }))).toBe("KEPT=other\nNEW=\nPLAIN=it's $HOME\n");
    expect(printed(await run('echo "$PLAIN ${NEW-unset}"; env | grep -E "^(KEPT|PLAIN|NEW)="'))).toBe("plain unset\nKEPT=kept\n");
  });

  it("keeps its variables when its code is interrupted at its time limit, or by its caller", async () => {
    await run("y=2");
    expect(await run("while :; do :; done", { timeoutMs: 300 })).toMatchObject({ timedOut: true, lost: undefined });
    const caller = new AbortController();
    const cancelled = run("echo begun; sleep 60", { signal: caller.signal, onOutput: () => caller.abort(new Error("gone")) });
    await expect(cancelled).rejects.toThrow("gone");
    expect(printed(await run('echo "$y"'))).toBe("2\n");
  });

  it("is started again when its code ends it, and says how it ended", async () => {
    await run("z=3");
    const ended = await run("echo last; exit 7");
    expect([printed(ended), ended.lost?.exit?.exitCode]).toEqual(["last\n", 7]);
    const next = await run('echo "${z-gone}"');
    expect([printed(next), next.isFresh]).toEqual(["gone\n", false]);
    expect((await run("kill -9 $$")).lost?.exit?.signal).toBe("SIGKILL");
  });

  it("is killed and started again when its code does not stop", async () => {
    const stuck = await run("trap '' INT; while :; do sleep 1; done", { timeoutMs: 300 });
    expect(stuck).toMatchObject({ timedOut: true, lost: { exit: { signal: "SIGKILL" } } });
    expect(printed(await run("echo again"))).toBe("again\n");
  });

  it("runs one code at a time, in order, beside other contexts", async () => {
    const other = await createContext(contexts.sandbox(), { language: "bash", cwd: "/usr" });
    const slow = run("sleep 0.5; echo slow; n=1");
    const after = run('echo "after $n"');
    expect(printed(await run("pwd", { contextId: other.id }))).toBe("/usr\n");
    expect([printed(await slow), printed(await after)]).toEqual(["slow\n", "after 1\n"]);
  });

  it("that others use for too long refuses a run, and serves the next", async () => {
    const slow = run("sleep 1; echo slow");
    await expect(run("echo never", { timeoutMs: 200 })).rejects.toMatchObject({ code: "EXEC_TIMEOUT" });
    expect([printed(await slow), printed(await run("echo next"))]).toEqual(["slow\n", "next\n"]);
  });

  it("is the same for every process of Belljar, also when the one before is cut off in the middle of a run", async () => {
    const beside = await contexts.beside();
    await run("shared=5");
    expect(printed(await run('echo "$shared"', {}, beside))).toBe("5\n");
    const cut = await contexts.sandbox().guest.attach("context-bash", soon());
    cut.channels[0]?.write("\n__belljar_take 0123456789abcdef0123456789abcdef echo\\\\0040 half");
    await cut[Symbol.asyncDispose]();
    expect(printed(await run('echo "$shared"', {}, beside))).toBe("5\n");
  });

  it("is listed, interrupted, restarted and removed", async () => {
    const { id } = await createContext(contexts.sandbox(), { language: "bash" });
    await run("q=1", { contextId: id });
    const before = (await listContexts(contexts.sandbox(), soon())).find((one) => one.id === id);
    expect(before).toMatchObject({ language: "bash", isDefault: false, pid: expect.any(Number) });
    const running = run("sleep 60 & echo begun; wait $!; echo never", {
      contextId: id,
      onOutput: () => void interruptContext(contexts.sandbox(), id, soon()),
    });
    expect(printed(await running)).toBe("begun\n");
    expect(printed(await run('echo "$q"', { contextId: id }))).toBe("1\n");
    await restartContext(contexts.sandbox(), id, soon());
    expect(printed(await run('echo "${q-gone}"', { contextId: id }))).toBe("gone\n");
    await removeContext(contexts.sandbox(), id, soon());
    expect((await listContexts(contexts.sandbox(), soon())).map((one) => one.id)).not.toContain(id);
    await expect(run("true", { contextId: id })).rejects.toMatchObject({ code: "CONTEXT_NOT_FOUND" });
  });

  it("is restarted also while a run waits behind the one that hangs, and not for a folder that is not there", async () => {
    const { id } = await createContext(contexts.sandbox(), { language: "bash" });
    const missing = restartContext(contexts.sandbox(), id, soon(), "/nowhere");
    await expect(missing).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    for (let turn = 0; turn < 4; turn++) {
      let waiting: Promise<CodeResult> | undefined;
      let restarted: Promise<unknown> | undefined;
      const hanging = run("echo begun; while :; do :; done", {
        contextId: id,
        onOutput: () => {
          waiting ??= run("echo waited", { contextId: id });
          restarted ??= restartContext(contexts.sandbox(), id, soon());
        },
      });
      expect((await hanging).lost).toBeDefined();
      expect(await restarted).toMatchObject({ id, pid: expect.any(Number) });
      expect(printed((await waiting) ?? (await run("echo none")))).toBe("waited\n");
    }
  });

  it("is removed also while code runs there, for good", async () => {
    const { id } = await createContext(contexts.sandbox(), { language: "bash" });
    const gone = await run("echo begun; while :; do :; done", {
      contextId: id,
      onOutput: () => void removeContext(contexts.sandbox(), id, soon()),
    });
    expect(gone.lost).toMatchObject({ startsAgain: false });
    expect((await listContexts(contexts.sandbox(), soon())).map((one) => one.id)).not.toContain(id);
  });

  it("that ended between two runs starts again, and the next run knows", async () => {
    const { id } = await createContext(contexts.sandbox(), { language: "bash" });
    const pid = (await listContexts(contexts.sandbox(), soon())).find((one) => one.id === id)?.pid ?? 0;
    await contexts.sandbox().guest.signalProcess(pid, 9, { signal: soon() });
    expect(await run("true", { contextId: id })).toMatchObject({ isFresh: true, exitCode: 0 });
  });

  it("is refused for a name that is none, or of another language", async () => {
    for (const contextId of ["nothing", "bash-12345678", "../x", "bash-"]) {
      await expect(run("true", { contextId, language: undefined })).rejects.toMatchObject({ code: "CONTEXT_NOT_FOUND" });
    }
    await expect(run("true", { contextId: "python", language: "bash" })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    await expect(run("true", { language: "perl" })).rejects.toMatchObject({ code: "LANGUAGE_UNAVAILABLE" });
  });
});
