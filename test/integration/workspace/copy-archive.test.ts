import { PassThrough } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { archiveIn } from "../../../src/sandbox/workspace/copy-archive.ts";
import { openFakeSandboxes } from "../../support/fake-sandboxes.ts";

it("ends with tar, and not with the producer of the archive", async () => {
  await using place = await openFakeSandboxes();
  const { signal } = new AbortController();
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  const input = new PassThrough();
  // tar gives up at once what `-z` would have to read.
  input.write(Buffer.concat([gzipSync("x")], 10_240));
  await expect(archiveIn(sandbox, input, { path: ".", signal })).rejects.toMatchObject({
    code: "COMMAND_FAILED",
    message: expect.stringContaining("compressed"),
  });
  expect(input.destroyed).toBe(true);
});

it("says of a folder that is not there before it reads of the archive", async () => {
  await using place = await openFakeSandboxes();
  const { signal } = new AbortController();
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  await expect(archiveIn(sandbox, new PassThrough(), { path: "nowhere", signal })).rejects.toMatchObject({
    code: "FILE_NOT_FOUND",
    message: expect.stringContaining("nowhere"),
  });
});
