import { expect } from "vitest";
import { EVALUATE } from "../../src/browser/actions/evaluate.ts";
import { Browsers } from "../../src/browser/browsers.ts";
import { openContextLab } from "../support/context-lab.ts";
import { patiently } from "../support/browser-lab.ts";
import { verifies } from "./verifies.ts";

const MIB = 1_048_576;
/** What the server may take for a driver that sends without end. */
const MEMORY_MAX_BYTES = 200 * MIB;

/** Frames as the real driver sends them, in Python: what a sandbox's user put in the place of `node`. */
const HELPERS = `#!/usr/bin/python3
import json, os, struct, sys, time
def send(data):
    while data:
        data = data[os.write(3, data):]
def frame(text, kind=1): send(struct.pack(">BI", kind, len(text)) + text)
def say(**message): frame(json.dumps(message).encode())
def hear():
    head = b""
    while len(head) < 5: head += os.read(3, 5 - len(head))
    size, text = struct.unpack(">I", head[1:])[0], b""
    while len(text) < size: text += os.read(3, size - len(text))
    return json.loads(text)
def ready(): say(type="ready", version="1"); return hear()["id"]
`;

/** Reads nothing of what it is asked. */
const DEAF = `say(type="ready", version="1"); time.sleep(600)`;
const DEAF_CALLS = 40;
/** What such a driver does, and the code of the call that it should have answered. */
const LIES: Readonly<Record<string, readonly [string, string]>> = {
  null: [`ready(); frame(b"null")`, "BROWSER_FAILED"],
  "no JSON": [`ready(); frame(b"\\xff{")`, "BROWSER_FAILED"],
  "no frame": [`ready(); send(b"\\x07" * 64)`, "BROWSER_FAILED"],
  "a frame of 200 MB": [`ready(); send(struct.pack(">BI", 1, 200_000_000))\nwhile True: send(b"x" * 65536)`, "BROWSER_FAILED"],
  "endless answers": [`id = ready()\nwhile True: say(type="answer", id=id, value={"json": "1"})`, "answered"],
  "endless pictures": [`ready()\nwhile True: frame(b"x" * 8_000_000, 2)`, "BROWSER_FAILED"],
  "a wrong id": [`id = ready(); say(type="answer", id=id + 1, value={"json": "1"})`, "BROWSER_FAILED"],
  "a wrong value": [`id = ready(); say(type="answer", id=id, value={"json": 1})`, "BROWSER_FAILED"],
  "a code of the server's": [`id = ready(); say(type="answer", id=id, error={"code": "UNAUTHORIZED", "message": "x"})`, "BROWSER_FAILED"],
  "a value without an end": [`ready(); frame(b"[" * 1_000_000)`, "BROWSER_FAILED"],
  "a deep value": [`id = ready(); frame(b'{"type":"answer","id":1,"value":' + b"[" * 500_000 + b"]" * 500_000 + b"}")`, "BROWSER_FAILED"],
  silence: [`ready(); time.sleep(600)`, "BROWSER_FAILED"],
  "an end": [`ready()`, "BROWSER_CRASHED"],
  "endless starts": [`ready()\nwhile True: say(type="ready", version="1")`, "BROWSER_FAILED"],
  "endless words on stderr": [`ready()\nwhile True: sys.stderr.write("x" * 65536)`, "BROWSER_FAILED"],
};

verifies(
  "browser-driver-harmless",
  async () => {
    await using lab = await openContextLab();
    await using browsers = new Browsers({ idleMs: 600_000 });
    const folder = "/home/user/evil";
    const [hostile, other] = await Promise.all([
      lab.sandbox({ env: { PATH: `${folder}:/usr/local/bin:/usr/bin:/bin` } }),
      lab.sandbox({ limits: { pids: 512 } }),
    ]);
    const evaluate = async (sandbox: typeof other, timeoutMs: number, expression = "1 + 1"): Promise<string> =>
      browsers
        .of(sandbox, "test")
        .call(EVALUATE, { expression }, { ...patiently(), timeoutMs })
        .then(
          ({ value }) => (sandbox === other ? value.json : "answered"),
          (error: { readonly code?: string }) => error.code ?? "no code",
        );
    expect(await evaluate(other, 40_000)).toBe("2");
    const before = process.memoryUsage.rss();
    const install = (program: string) =>
      hostile.guest.files.write(`${folder}/node`, `${HELPERS}${program}\n`, { mode: 0o755, signal: patiently().signal });
    for (const [name, [lie, code]] of Object.entries(LIES)) {
      // Its end would be noticed, perhaps before what it said.
      await install(code === "BROWSER_CRASHED" ? lie : `${lie}\ntime.sleep(600)`);
      const [told, answered] = await Promise.all([evaluate(hostile, 500), evaluate(other, 40_000)]);
      expect([name, told, answered]).toEqual([name, code, "2"]);
      expect(process.memoryUsage.rss() - before, name).toBeLessThan(MEMORY_MAX_BYTES);
    }
    await install(DEAF);
    const large = `"${"x".repeat(MIB - 10_000)}"`;
    const told = await Promise.all(Array.from({ length: DEAF_CALLS }, () => evaluate(hostile, 500, large)));
    expect(new Set(told)).toEqual(new Set(["PROCESS_LIMIT", "BROWSER_FAILED"]));
    expect(told.filter((code) => code === "BROWSER_FAILED").length).toBeLessThan(DEAF_CALLS / 2);
    await hostile.guest.files.remove(folder, { recursive: true, signal: patiently().signal });
    expect(await evaluate(hostile, 40_000)).toBe("answered");
  },
  120_000,
);
