import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { openE2bLab } from "../../support/e2b-lab.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/e2b");

interface Played {
  readonly name: string;
  readonly status: number;
  readonly content: unknown;
}

it("answers what E2B's Python SDK sends, by the paths of its version", async () => {
  await using lab = await openE2bLab();
  const argv = [join(FIXTURES, "play.py"), join(FIXTURES, "python-sdk-2.45.1.json"), lab.url, lab.key];
  // What it said before it failed says what failed.
  const { stdout, stderr } = await promisify(execFile)("python3", argv).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  expect(stderr).toBe("");
  const lines = stdout.trim().split("\n");
  const played = new Map(lines.map((line) => JSON.parse(line) as Played).map(({ name, content }) => [name, content]));
  expect(played.get("info")).toMatchObject({ state: "running", metadata: { from: "python" } });
  expect(played.get("list")).toMatchObject([{ metadata: { from: "python" } }]);
  const frames = played.get("run a command") as readonly { readonly flags: number; readonly message: unknown }[];
  expect(frames.at(0)).toMatchObject({ flags: 0, message: { event: { start: { pid: expect.any(Number) as number } } } });
  expect(frames.map(({ message }) => message)).toContainEqual({ event: { data: { stdout: Buffer.from("hello\n").toString("base64") } } });
  expect(frames.at(-1)).toMatchObject({ flags: 2, message: {} });
  expect(played.get("write a file")).toEqual([{ name: "a.txt", path: "/home/user/watched/a.txt", type: "file" }]);
  expect(played.get("what was seen")).toMatchObject({
    events: expect.arrayContaining([expect.objectContaining({ name: "a.txt" })]) as unknown,
  });
  expect(played.get("read a file")).toBe("from Python");
  expect(played.get("stat what is not there")).toMatchObject({ code: "not_found" });
  expect(played.get("run code")).toContainEqual(expect.objectContaining({ type: "result", text: "42", is_main_result: true }));
  expect(played.get("run code there")).toContainEqual(expect.objectContaining({ type: "result", text: "/tmp" }));
  expect(played.get("kill again")).toMatchObject({ code: 404 });
  expect(played.get("health of the dead")).toMatchObject({ code: 502, message: "The sandbox was not found" });
});
