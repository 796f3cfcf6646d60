import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { findFolders } from "./find-home.ts";

const signal = new AbortController().signal;

interface Inside {
  readonly passwd?: string | BelljarError;
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
}

/** A sandbox of which two calls are known. */
function sandboxOf({ passwd = new BelljarError("FILE_NOT_FOUND", "none"), folders = [], files = [] }: Inside): Pick<Sandbox, "guest"> {
  const read = async (_path: string, { maxBytes = Infinity } = {}): Promise<Buffer> => {
    if (passwd instanceof BelljarError) throw passwd;
    expect(maxBytes).toBeLessThanOrEqual(2 ** 20);
    return Buffer.from(passwd);
  };
  const stat = async (path: string): Promise<{ readonly type: string }> => {
    if (folders.includes(path)) return { type: "directory" };
    if (files.includes(path)) return { type: "file" };
    throw new BelljarError("FILE_NOT_FOUND", "none");
  };
  return { guest: { files: { read, stat } } } as unknown as Pick<Sandbox, "guest">;
}

const PASSWD = "root:x:0:0:root:/root:/bin/sh\nann:x:1234:50:Ann:/home/ann:/bin/sh\nlost:x:7:7::/gone:/bin/sh\nrel:x:8:8::home:/bin/sh\n";

it.each([
  ["ann", "/home/ann"],
  ["1234", "/home/ann"],
  ["ann:staff", "/home/ann"],
  ["0", "/root"],
  ["lost", "/"],
  ["rel", "/"],
  ["nobody", "/"],
  ["an", "/"],
])("finds the home of %s: %s", async (user, home) => {
  const sandbox = sandboxOf({ passwd: PASSWD, folders: ["/root", "/home/ann"] });
  expect(await findFolders(sandbox, { user }, signal)).toEqual({ home });
});

it.each(["FILE_NOT_FOUND", "FILE_NOT_DIRECTORY", "FILE_DENIED"] as const)("is at home in / where /etc/passwd answers %s", async (code) => {
  expect(await findFolders(sandboxOf({ passwd: new BelljarError(code, "none") }), { user: "0" }, signal)).toEqual({ home: "/" });
});

it("passes on what is no answer of a file", async () => {
  const sandbox = sandboxOf({ passwd: new BelljarError("SANDBOX_ENDED", "gone") });
  await expect(findFolders(sandbox, { user: "0" }, signal)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
});

it.each([
  ["a carriage return", "\r"],
  ["a line separator", "\u2028"],
  ["a colon", ":"],
  ["a newline", "\n"],
  ["a user without an end", "ann:x:1234:50:"],
])("reads as much as it may of nothing but %s, in one pass", async (_what, part) => {
  const passwd = part.repeat(2 ** 20 / Buffer.byteLength(part));
  expect(await findFolders(sandboxOf({ passwd }), { user: "ann" }, signal)).toEqual({ home: "/" });
});

it("begins in the folder that the image names, where it is one", async () => {
  const sandbox = sandboxOf({ folders: ["/srv"], files: ["/etc/motd"] });
  const found = (workingDir: string) => findFolders(sandbox, { user: "0", workingDir }, signal);
  expect(await found("/srv")).toEqual({ home: "/", cwd: "/srv" });
  for (const none of ["/etc/motd", "/none"]) expect(await found(none)).toEqual({ home: "/" });
});

it("reads lines of every form, and finds the one that is whole", async () => {
  const odd = ["::::::", "ann", "ann:x", "ann:x:1234", "ann:x:abc:0::/bad:", "\0\xff", ":".repeat(10_000), "a".repeat(100_000)];
  const sandbox = sandboxOf({ passwd: [...odd, PASSWD].join("\n"), folders: ["/home/ann", "/bad"] });
  expect(await findFolders(sandbox, { user: "ann" }, signal)).toEqual({ home: "/home/ann" });
});
