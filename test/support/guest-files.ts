import { Readable } from "node:stream";
import type { FileInfo, Guest, Sandbox } from "../../src/sandbox/sandbox.ts";
import { BelljarError } from "../../src/errors.ts";
import { WITH_WORKSPACE } from "./run-of.ts";

/** When each file of `sandboxWithFiles` was written. */
export const WRITTEN_NS = 1_700_000_000_000_000_000n;

/**
 * A sandbox whose workspace at `/workspace` has these files, and which can do nothing but open and read them. `told`: what its guest says of
 * a file instead of the truth. `texts`: what is known of its workspace at the start.
 */
export function sandboxWithFiles(
  files: Readonly<Record<string, string>>,
  { told = {}, texts = {} }: { readonly told?: Partial<FileInfo>; readonly texts?: Readonly<Record<string, string>> } = {},
): Sandbox {
  const textOf = (path: unknown): Buffer => {
    const text = files[String(path).replace("/workspace/", "")];
    if (text === undefined) throw new BelljarError("FILE_NOT_FOUND", String(path));
    return Buffer.from(text);
  };
  const opened: Partial<Guest["files"]> = {
    open: async (path) => {
      const content = textOf(path);
      return { info: { size: content.length, mtimeNs: WRITTEN_NS, ...told } as FileInfo, content: Readable.from([content]) };
    },
    read: async (path) => textOf(path),
  };
  const guest = { files: opened } as Partial<Guest> as Guest;
  const workspaceBaseText = async (key: string) => (texts[key] === undefined ? undefined : Buffer.from(texts[key]));
  return { id: "a".repeat(20), guest, inside: WITH_WORKSPACE, workspaceBaseText } as Partial<Sandbox> as Sandbox;
}
