import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { ChangeFacts } from "../../actions/change.ts";
import type { UploadFileArgs } from "../../actions/upload-file.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, type How } from "./act.ts";
import { elementOf, needTarget, type Target } from "./target.ts";

export const uploadFile = defineHandler<UploadFileArgs, ChangeFacts>({
  name: "upload_file",
  async run(tab, args, call) {
    for (const path of args.paths) await assertReadable(path);
    return act(tab, call, async (how) => give(tab, await needTarget(tab, args), { paths: [...args.paths], how }));
  },
});

async function give(tab: Tab, target: Target, { paths, how }: { readonly paths: string[]; readonly how: How }): Promise<void> {
  const element = await elementOf(tab, target, how);
  const isField = await element.evaluate((node: unknown) => {
    const { nodeName, type } = node as { readonly nodeName: string; readonly type?: string };
    return nodeName === "INPUT" && type === "file";
  });
  if (isField) return element.setInputFiles(paths, how);
  const choosing = tab.page.waitForEvent("filechooser", how);
  choosing.catch(() => undefined);
  await element.click(how);
  await (await choosing.catch((error: unknown) => noChooser(error, how.signal))).setFiles(paths, how);
}

function noChooser(error: unknown, { aborted }: AbortSignal): never {
  if (aborted) throw error;
  throw new DriverError("ACTION_FAILED", "The element is no file field, and asked for no file when it was clicked");
}

/** As the sandbox's user, whom Chromium runs as too. */
async function assertReadable(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isFile()) throw new DriverError("ARGUMENTS_INVALID", `${path} is no file`);
    await access(path, constants.R_OK);
  } catch (error) {
    throw toFileError(error, path);
  }
}

export function toFileError(error: unknown, path: string): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return new DriverError("FILE_NOT_FOUND", `There is no ${path} in the sandbox`);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return new DriverError("FILE_DENIED", `The sandbox's user may not open ${path}`);
  return error;
}
