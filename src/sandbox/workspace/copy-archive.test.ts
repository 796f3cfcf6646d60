import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import type { ExecExit, ExecProcess, Guest, Sandbox } from "../sandbox.ts";
import { archiveIn, archiveOut } from "./copy-archive.ts";

const { signal } = new AbortController();
const failed = (message: string) => ({ code: "COMMAND_FAILED", message });

interface Tar {
  readonly says?: string;
  readonly complains?: string;
  readonly exit?: Partial<ExecExit>;
  /** It ends without reading on. */
  readonly endsEarly?: boolean;
}

/** A sandbox whose tar is played: what it was asked for, and what it was given. */
function sandboxOf({ says = "", complains = "", exit = {}, endsEarly = false }: Tar = {}) {
  const asked: unknown[] = [];
  const stdin = new PassThrough();
  const given = endsEarly ? Promise.resolve(Buffer.alloc(0)) : buffer(stdin);
  const end = { exitCode: 0, signal: undefined, timedOut: false, ...exit } as ExecExit;
  const tar = {
    stdin,
    stdout: Readable.from([Buffer.from(says)]),
    stderr: Readable.from([Buffer.from(complains)]),
    exited: given.then(() => end),
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as ExecProcess;
  const exec = async (options: unknown) => (asked.push(options), tar);
  const sandbox = { guest: { exec } as Partial<Guest> as Guest } as Partial<Sandbox> as Sandbox;
  return { sandbox, asked, given };
}

function collector() {
  const out = new PassThrough();
  return { out, text: async () => (out.end(), String(await buffer(out))) };
}

it.each([
  ["/home/user/a", "/home/user", "a"],
  ["a", ".", "a"],
  ["/a/", "/", "a"],
  ["/", "/", "."],
  [".", ".", "."],
  ["a/..", "a/..", "."],
  ["", "/", "."],
])("packs %s as seen from the folder around it", async (path, folder, name) => {
  const { sandbox, asked } = sandboxOf();
  await archiveOut(sandbox, new PassThrough(), { path, signal });
  expect(asked).toEqual([{ argv: ["tar", "-cf", "-", "-C", folder, "--", name], signal }]);
});

it("gives what tar packs to the writer, counts it, and leaves the writer open", async () => {
  const { out, text } = collector();
  const counts: number[] = [];
  await archiveOut(sandboxOf({ says: "archive" }).sandbox, out, { path: "a", signal, onBytes: (count) => counts.push(count) });
  expect(out.writableEnded).toBe(false);
  expect([await text(), counts]).toEqual(["archive", [7]]);
});

it("gives tar the archive in the folder, and counts it", async () => {
  const { sandbox, asked, given } = sandboxOf({ says: "ignored" });
  const counts: number[] = [];
  await archiveIn(sandbox, Readable.from([Buffer.from("ar"), Buffer.from("chive")]), {
    path: "to",
    signal,
    onBytes: (count) => counts.push(count),
  });
  expect(asked).toEqual([{ argv: ["tar", "-xf", "-", "--no-same-owner"], cwd: "to", signal }]);
  expect([String(await given), counts]).toEqual(["archive", [2, 5]]);
});

it("tells why tar failed, in a bounded and printable text", async () => {
  const out = () => new PassThrough();
  const pack = (tar: Tar) => archiveOut(sandboxOf({ exit: { exitCode: 2 }, ...tar }).sandbox, out(), { path: "a", signal });
  await expect(pack({ complains: "tar: a: No such file\n" })).rejects.toMatchObject(
    failed("tar in the sandbox failed: tar: a: No such file"),
  );
  await expect(pack({})).rejects.toMatchObject(failed("tar in the sandbox failed: it ended with code 2"));
  await expect(pack({ exit: { exitCode: 137, signal: "SIGKILL" } })).rejects.toMatchObject(
    failed("tar in the sandbox failed: it ended with SIGKILL"),
  );
  await expect(pack({ complains: "x".repeat(5_000) })).rejects.toMatchObject(failed(`tar in the sandbox failed: ${"x".repeat(2_000)}`));
  await expect(pack({ complains: "a\u001b[2Jb" })).rejects.toMatchObject({ message: expect.not.stringContaining("\u001b") as string });
});

it("stops the producer of an archive that tar does not read on", async () => {
  const input = new PassThrough();
  const { sandbox } = sandboxOf({ endsEarly: true, exit: { exitCode: 2 }, complains: "not a tar archive" });
  await expect(archiveIn(sandbox, input, { path: ".", signal })).rejects.toMatchObject(
    failed("tar in the sandbox failed: not a tar archive"),
  );
  expect(input.destroyed).toBe(true);
});

it("tells a broken stream where tar itself did well", async () => {
  const out = new PassThrough();
  out.destroy(new Error("the disk is full"));
  await expect(archiveOut(sandboxOf({ says: "archive" }).sandbox, out, { path: "a", signal })).rejects.toThrow("the disk is full");
});

it("says that a template has no tar, and passes other refusals on", async () => {
  const refusing = (code: "COMMAND_NOT_FOUND" | "SANDBOX_ENDED") =>
    ({ guest: { exec: () => Promise.reject(new BelljarError(code, "no")) } as Partial<Guest> as Guest }) as Partial<Sandbox> as Sandbox;
  const pack = (code: "COMMAND_NOT_FOUND" | "SANDBOX_ENDED") => archiveOut(refusing(code), new PassThrough(), { path: "a", signal });
  await expect(pack("COMMAND_NOT_FOUND")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  await expect(pack("SANDBOX_ENDED")).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
});
