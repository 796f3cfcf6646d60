import { expect, it, vi } from "vitest";
import { openToolCaller } from "../../../support/tool-caller.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { readFiles } from "../../../../src/tools/files/patch-files.ts";
import { listed } from "../../../support/listed.ts";

it("reads no more files once they are too large together", async () => {
  await using tools = await openToolCaller();
  const names = Array.from({ length: 20 }, (_, index) => `file${index}`);
  await tools.call("run_command", { command: `truncate -s 8000000 ${names.join(" ")}` });
  const [info] = await listed(tools.sandboxes, LOCAL);
  const sandbox = await tools.sandboxes.get(LOCAL, info?.id ?? "");
  const opened = vi.spyOn(sandbox.guest.files, "open");
  const paths = names.map((name) => `/home/user/${name}`);
  const files = await readFiles(sandbox, paths, new AbortController().signal);
  expect(opened).toHaveBeenCalledTimes(3);
  expect([...files.keys()]).toEqual(paths);
  expect(paths.map((path) => "content" in (files.get(path) ?? {})).slice(0, 4)).toEqual([true, true, false, false]);
  expect(files.get("/home/user/file19")).toEqual({ problem: expect.stringMatching(/^FILE_TOO_LARGE: .*split it$/) });
});
