import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createLog } from "./log.ts";

const SECRET = "s3cret-value-of-mine";

function openLog(logFile?: string) {
  const stderr = new PassThrough();
  const log = createLog(stderr, { logLevel: "info", ...(logFile !== undefined && { logFile }) });
  return { log, said: (): string => String(stderr.read() ?? "") };
}

it("writes one line of JSON for each entry, with the error and its causes", () => {
  const { log, said } = openLog();
  log.error({ err: new Error("outer", { cause: new TypeError("inner") }), requestId: "r-1" }, "It failed");
  expect(JSON.parse(said())).toMatchObject({
    level: "error",
    msg: "It failed",
    requestId: "r-1",
    err: { type: "Error", message: "outer", cause: { type: "TypeError", message: "inner" } },
  });
});

it.each([
  { apiKey: SECRET },
  { headers: { authorization: SECRET, list: [{ cookie: SECRET }] } },
  { err: new Error(`asked with Bearer ${SECRET}`) },
  { err: new Error("outer", { cause: new Error(`password=${SECRET}`) }) },
  { url: `https://user:${SECRET}@example.test/` },
])("never writes a secret that can be told from other words", (fields) => {
  const { log, said } = openLog();
  log.error(fields, "It failed");
  const line = said();
  expect(line).toContain("It failed");
  expect(line).not.toContain(SECRET);
});

it("writes to the named file, and nothing to stderr", () => {
  const folder = mkdtempSync(join(tmpdir(), "bj-log-"));
  try {
    const { log, said } = openLog(join(folder, "belljar.log"));
    log.info({}, "Hello");
    expect([JSON.parse(readFileSync(join(folder, "belljar.log"), "utf8")), said()]).toMatchObject([{ msg: "Hello" }, ""]);
    expect(() => openLog(join(folder, "belljar.log/below"))).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("writes to stderr if the file cannot be written", () => {
  const folder = mkdtempSync(join(tmpdir(), "bj-log-"));
  const { log, said } = openLog(join(folder, "belljar.log"));
  rmSync(folder, { recursive: true });
  log.error({}, "Still heard");
  expect(said()).toContain("Still heard");
});
