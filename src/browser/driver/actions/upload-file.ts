import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { ChangeFacts } from "../../actions/change.ts";
import type { UploadFileArgs } from "../../actions/upload-file.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, ACT_MS } from "./act.ts";
import { elementOf, needTarget, type Target } from "./target.ts";

export const uploadFile = defineHandler<UploadFileArgs, ChangeFacts>({
  name: "upload_file",
  async run(tab, args) {
    for (const path of args.paths) await assertReadable(path);
    return act(tab, async () => give(tab, await needTarget(tab, args), args.paths));
  },
});

async function give(tab: Tab, target: Target, paths: readonly string[]): Promise<void> {
  const element = await elementOf(tab, target, ACT_MS);
  const isField = await element.evaluate((node: unknown) => {
    const { nodeName, type } = node as { readonly nodeName: string; readonly type?: string };
    return nodeName === "INPUT" && type === "file";
  });
  if (isField) return element.setInputFiles([...paths], { timeout: ACT_MS });
  const choosing = tab.page.waitForEvent("filechooser", { timeout: ACT_MS });
  choosing.catch(() => undefined);
  await element.click({ timeout: ACT_MS });
  await (await choosing.catch(noChooser)).setFiles([...paths], { timeout: ACT_MS });
}

function noChooser(): never {
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
